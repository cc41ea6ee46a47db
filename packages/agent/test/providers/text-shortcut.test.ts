import { describe, expect, it } from "vitest";
import { createTextShortcut } from "../../src/providers/exchange.js";

const delta = (text: string, more: object = {}) =>
  JSON.stringify({ id: "x", choices: [{ delta: { content: text }, ...more }] });

/** The events of a stream when every event is parsed, and the number of parsed events when repeats are cut out. */
function hear(
  stream: readonly string[],
  read = (data: string) => JSON.parse(data).choices[0].delta.content as string,
  counter?: string,
) {
  const shortcut = createTextShortcut(counter);
  let parsed = 0;
  const texts = stream.map((data) => {
    const again = shortcut.find(data);
    if (again) return again.text;
    parsed++;
    const text = read(data);
    shortcut.learn(data, typeof text === "string" && text !== "" ? { type: "text", text } : null);
    return text;
  });
  return { texts, parsed };
}

describe("events that repeat", () => {
  it("are parsed twice, and then only if their text has escapes", () => {
    const texts = ["Hel", "lo", " wor", "ld", "\n", "next", '"', "quoted", "é🎉", "", "a", "b", "c"];
    const heard = hear(texts.map((text) => delta(text)));
    expect(heard.texts).toEqual(texts);
    // The first two; two with escapes; an empty one, and the two after it.
    expect(heard.parsed).toBe(2 + 2 + 1 + 2);
  });

  it("are parsed while the place of the text is not clear", () => {
    const heard = hear(["x", "x", "x", "y", "y", "z"].map((text) => delta(text)));
    expect(heard.texts).toEqual(["x", "x", "x", "y", "y", "z"]);
    const same = hear([
      '{"a":"k","choices":[{"delta":{"content":"k"}}]}',
      '{"a":"m","choices":[{"delta":{"content":"k"}}]}',
    ]);
    expect(same.texts).toEqual(["k", "k"]);
    const other = [
      '{"a":"k","choices":[{"delta":{"content":"k"}}]}',
      '{"a":"k","choices":[{"delta":{"content":"j"}}]}',
    ];
    expect(hear([...other, '{"a":"j","choices":[{"delta":{"content":"i"}}]}']).texts).toEqual(["k", "j", "i"]);
  });

  it("are parsed again after an event of another shape, or with more in it", () => {
    const stream = ["a", "b", "c"].map((text) => delta(text));
    const heard = hear([
      ...stream,
      delta("d", { finish_reason: "stop" }),
      ...stream,
      delta("e", { n: 1 }),
      delta("f", { n: 2 }),
    ]);
    expect(heard.texts).toEqual(["a", "b", "c", "d", "a", "b", "c", "e", "f"]);
    expect(heard.parsed).toBe(2 + 1 + 2 + 2);
    // The end of one text and the beginning of another field are not text.
    const sly = `{"id":"x","choices":[{"delta":{"content":"a","role":"b"}}]}`;
    expect(hear([...stream, sly]).texts.at(-1)).toBe("a");
  });

  it("may have a number that only counts them", () => {
    const numbered = (n: unknown, delta: string, more: object = {}) =>
      JSON.stringify({ type: "t", n, item: 0, delta, ...more });
    const read = (data: string) => (JSON.parse(data) as { delta: string }).delta;
    const words = ["a", "b", "c", "d", "e"];
    const stream = words.map((word, at) => numbered(at + 8, word));
    expect(hear(stream, read, "n")).toEqual({ texts: words, parsed: 2 });
    expect(hear(stream, read).parsed).toBe(words.length);
    // Another number, no number, and a number after the text.
    const other = [...stream, numbered(13, "f", { item: 1 }), numbered(null, "g"), numbered("", "h")];
    expect(hear(other, read, "n")).toEqual({ texts: [...words, "f", "g", "h"], parsed: 2 + 3 });
    const behind = words.map((delta, n) => JSON.stringify({ delta, n }));
    expect(hear(behind, read, "n")).toEqual({ texts: words, parsed: words.length });
    expect(() => hear([...stream, '{"type":"t","n":,"item":0,"delta":"f"}'], read, "n")).toThrow();
  });

  it("give the same events as parsing, in random streams of few shapes and words", () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    const words = ["x", "id", "content", "a b", "\\", '"', "\n", "é", "x\u2028", "0", '","content":"', "🎉", "delta"];
    for (let n = 0; n < 2_000; n++) {
      const shapes = Array.from(
        { length: 2 },
        (_, shape) => (text: string) =>
          shape === 0
            ? delta(text)
            : JSON.stringify({ id: words[random(words.length)], choices: [{ delta: { content: text } }] }),
      );
      const stream = Array.from(
        { length: 12 },
        () => shapes[random(4) === 0 ? 1 : 0]?.(words[random(words.length)] ?? "") ?? "",
      );
      expect(hear(stream).texts).toEqual(stream.map((data) => JSON.parse(data).choices[0].delta.content));
    }
  });
});
