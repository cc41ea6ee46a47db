import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Frame } from "../src/index.js";
import { createFrameReader } from "../src/testing.js";

function read(chunks: Uint8Array[], limits = {}): Frame[] {
  const frames: Frame[] = [];
  const reader = createFrameReader((frame) => frames.push(frame), limits);
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return frames;
}

const notify = (text: string) => `{"jsonrpc":"2.0","method":"m","params":${JSON.stringify({ text })}}`;
const texts = (frames: Frame[]) =>
  frames.map((frame) => (frame.kind === "notification" ? (frame.params as { text: string }).text : frame.kind));

describe("lines", () => {
  it("are the same whatever the chunking", () => {
    const property = fc.property(
      fc.array(fc.string({ unit: "grapheme", maxLength: 2000 }), { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 30 }),
      fc.constantFrom("\n", "\r\n", "\n\n", "\n \t\n"),
      (sent, sizes, ending) => {
        const bytes = Buffer.from(sent.map((text) => notify(text) + ending).join(""));
        const chunks: Buffer[] = [];
        for (let start = 0, i = 0; start < bytes.length; i++) {
          const end = start + (sizes[i % sizes.length] ?? 1);
          chunks.push(bytes.subarray(start, end));
          start = end;
        }
        expect(texts(read(chunks))).toEqual(sent);
      },
    );
    fc.assert(property, { numRuns: 200, seed: 7 });
  });

  it("are not ended by U+2028, U+2029 or U+0085", () => {
    const text = "a\u2028b\u2029c\u0085d";
    expect(texts(read([Buffer.from(`${notify(text)}\n`)]))).toEqual([text]);
  });

  it("may arrive byte by byte, and the last one without a newline", () => {
    const bytes = Buffer.from(`${notify("grüße 😀")}\n${notify("last")}`);
    expect(texts(read([...bytes].map((byte) => Uint8Array.of(byte))))).toEqual(["grüße 😀", "last"]);
  });
});

describe("long lines", () => {
  const inChunks = (bytes: Buffer, size: number) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));

  it.each(["plain ", "é", "日本語", "a 😀 b", '\u0000"\\\n'])("of %j are whole in any chunking", (unit) => {
    const text = unit.repeat(10_000);
    const bytes = Buffer.from(`${notify(text)}\n${notify("next")}\n`);
    for (const size of [999, 4096, 16_385, bytes.length]) {
      expect(texts(read(inChunks(bytes, size)))).toEqual([text, "next"]);
    }
  });

  it("with one bad byte, or cut inside a character, are refused alone", () => {
    const bad = Buffer.from(notify("日本語".repeat(5_000)));
    bad[bad.length >> 1] = 0xff;
    const cut = Buffer.from("日本語".repeat(5_000)).subarray(0, -1);
    const bytes = Buffer.concat([bad, Buffer.from("\n"), cut, Buffer.from(`\n${notify("b")}\n`)]);
    for (const size of [1000, bytes.length])
      expect(texts(read(inChunks(bytes, size)))).toEqual(["invalid", "invalid", "b"]);
  });
});

describe("a line beyond the limit", () => {
  const limits = { maxLineBytes: 200 };
  const long = "x".repeat(300);

  it.each([1, 7, 64, 10_000])("is answered once and skipped to its newline, in chunks of %i", (size) => {
    const bytes = Buffer.from(`${notify("a")}\n${notify(long)}\n${notify("b")}\n${long}${long}\n${notify("c")}\n`);
    const chunks: Buffer[] = [];
    for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.subarray(i, i + size));
    expect(texts(read(chunks, limits))).toEqual(["a", "invalid", "b", "invalid", "c"]);
  });

  it("does not use up memory", () => {
    const reader = createFrameReader(() => {}, { maxLineBytes: 1024 * 1024 });
    const chunk = Buffer.alloc(64 * 1024, "a");
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 4096; i++) reader.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });
});

describe("invalid UTF-8", () => {
  it("spoils its own line only", () => {
    const bad = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","method":"'), Buffer.of(0xff), Buffer.from('"}\n')]);
    const frames = read([Buffer.concat([Buffer.from(`${notify("é")}\n\n`), bad, Buffer.from(`${notify("b")}\n`)])]);
    expect(texts(frames)).toEqual(["é", "invalid", "b"]);
  });
});

describe("nesting", () => {
  const depthOf = (value: unknown): number =>
    typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

  it("is read up to the limit and refused above it, whatever the strings hold", () => {
    const strings = fc.string({ unit: fc.constantFrom("[", "]", "{", "}", '"', "\\", ",", "x"), maxLength: 60 });
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 9 },
        strings,
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(strings, tie("tree")),
      ),
    }));
    const property = fc.property(
      tree,
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom(0, 1),
      (params, maxDepth, indent) => {
        const message = { jsonrpc: "2.0", method: "m", params };
        const line = JSON.stringify(message, null, indent).replaceAll("\n", " ");
        const [frame] = read([Buffer.from(line)], { maxDepth });
        expect(frame?.kind).toBe(depthOf(message) > maxDepth ? "invalid" : "notification");
      },
    );
    fc.assert(property, { numRuns: 1000, seed: 7 });
  });
});
