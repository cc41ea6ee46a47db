// Reading, in CPU time: frames per second against bare split + JSON.parse, one 8 MiB line, and memory after a million frames.
import { StringDecoder } from "node:string_decoder";
import { createFrameReader } from "../packages/ndjson-rpc/dist/testing.js";
import { interleave, median, row } from "./report.mjs";

// Short rounds, many of them: what disturbs the machine then hits both contestants alike.
const FRAMES = 4_000;

const prompt = (id) => ({
  jsonrpc: "2.0",
  id,
  method: "session/prompt",
  params: {
    sessionId: "otter-20260425T091208-7c8a4f1e",
    prompt: [{ type: "text", text: `please look at src/index.ts and fix the failing test number ${id}` }],
  },
});

function inChunks(bytes, size) {
  const chunks = [];
  for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.subarray(i, i + size));
  return chunks;
}

function readAll(chunks) {
  let frames = 0;
  const reader = createFrameReader((frame) => {
    if (frame.kind === "request") frames++;
  });
  for (const chunk of chunks) reader.push(chunk);
  return frames;
}

function splitAndParse(chunks) {
  const decoder = new StringDecoder("utf8");
  let frames = 0;
  let rest = "";
  for (const chunk of chunks) {
    rest += decoder.write(chunk);
    let start = 0;
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n", start)) {
      if (JSON.parse(rest.slice(start, end)).method) frames++;
      start = end + 1;
    }
    rest = rest.slice(start);
  }
  return frames;
}

function cpuMilliseconds(work) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function expect(actual, wanted) {
  if (actual !== wanted) throw new Error(`expected ${wanted}, got ${actual}`);
}

async function framesPerSecond() {
  const lines = Array.from({ length: FRAMES }, (_, i) => `${JSON.stringify(prompt(i))}\n`).join("");
  const chunks = inChunks(Buffer.from(lines), 64 * 1024);
  const samples = await interleave(
    {
      ours: () => cpuMilliseconds(() => expect(readAll(chunks), FRAMES)),
      raw: () => cpuMilliseconds(() => expect(splitAndParse(chunks), FRAMES)),
    },
    { runs: 301, warmup: 20 },
  );
  const perSecond = (name) => (FRAMES / median(samples[name])) * 1000;
  row({
    name: "frames parsed per second",
    ours: perSecond("ours"),
    floor: perSecond("raw"),
    unit: "/s",
    target: 0.8,
    better: "higher",
  });
}

async function longLine() {
  const text = 'const greeting = "hello";\n'.repeat((8 * 1024 * 1024) / 29);
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "fs/write_text_file", params: { text } });
  const chunks = inChunks(Buffer.from(`${line}\n`), 16 * 1024);
  const samples = await interleave(
    {
      ours: () => cpuMilliseconds(() => expect(readAll(chunks), 1)),
      parse: () => cpuMilliseconds(() => expect(JSON.parse(line).id, 1)),
    },
    { runs: 31, warmup: 4 },
  );
  row({
    name: "8 MiB line in 16 KiB chunks",
    ours: median(samples.ours),
    floor: median(samples.parse),
    unit: "ms",
    target: 2,
  });
}

function memoryAfterAMillion() {
  const chunk = Buffer.from(Array.from({ length: 1000 }, (_, i) => `${JSON.stringify(prompt(i))}\n`).join(""));
  const reader = createFrameReader(() => {});
  const heap = () => {
    globalThis.gc();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  const feed = (frames) => {
    for (let i = 0; i < frames / 1000; i++) reader.push(chunk);
  };
  feed(100_000);
  const before = heap();
  feed(1_000_000);
  row({ name: "heap growth over 1M frames", ours: Math.max(0, heap() - before), unit: "MiB", target: "1 MiB" });
}

await framesPerSecond();
await longLine();
const { setFlagsFromString } = await import("node:v8");
setFlagsFromString("--expose-gc");
globalThis.gc = (await import("node:vm")).runInNewContext("gc");
memoryAfterAMillion();
