import { describe, expect, test } from "vitest";
import { parseAnsi } from "../src/page/text/ansi.js";
import { createBlocks } from "../src/page/text/blocks.js";
import { countChanges, diffTexts, parseUnified } from "../src/page/text/diff.js";

function blocksOf(text: string, size = text.length) {
  const blocks = createBlocks();
  for (let at = 0; at < text.length; at += size) blocks.push(text.slice(at, at + size));
  blocks.end();
  return blocks.closed.map(({ type, text: content }) => [type, content]);
}

describe("blocks", () => {
  const text = [
    "# Title",
    "",
    "A paragraph",
    "of two lines.",
    "",
    "- one",
    "",
    "  more of one",
    "- two",
    "  ```js",
    "  in the list",
    "",
    "  ```",
    "",
    "```ts",
    "const a = 1;",
    "",
    "# not a title",
    "```",
    "After.",
  ].join("\n");

  test("are cut where nothing that follows can change them", () => {
    expect(blocksOf(text).map(([type]) => type)).toEqual(["markdown", "markdown", "markdown", "code", "markdown"]);
    expect(blocksOf(text)[2]![1]).toContain("more of one\n- two\n  ```js\n  in the list");
    expect(blocksOf(text)[3]![1]).toBe("const a = 1;\n\n# not a title");
  });

  test("are the same however the text arrives", () => {
    for (const size of [1, 2, 3, 7, 50]) expect(blocksOf(text, size)).toEqual(blocksOf(text));
  });

  test("a block is closed once, and the open one is as it is now", () => {
    const blocks = createBlocks();
    blocks.push("First.\n\nSec");
    expect(blocks.closed.map((one) => one.text)).toEqual([]);
    expect(blocks.open?.text).toBe("First.\n\nSec");
    blocks.push("ond.\n");
    expect(blocks.closed.map((one) => one.text.trim())).toEqual(["First."]);
    expect(blocks.open?.text.trim()).toBe("Second.");
  });

  test("a long list is cut between its items", () => {
    const list = Array.from({ length: 400 }, (_, at) => `- item ${at} of a long list`).join("\n");
    const cut = blocksOf(list);
    expect(cut.length).toBeGreaterThan(3);
    for (const [, piece] of cut) expect(piece!.length).toBeLessThan(4096);
    expect(cut.map(([, piece]) => piece).join("\n")).toBe(list);
  });
});

describe("terminal output", () => {
  test("has its colours as classes, and no control characters", () => {
    expect(parseAnsi("a\u001b[1;31mred\u001b[0m b\u001b[38;5;46mgreen\u001b[39m\u001b[2K\u0007!")).toEqual([
      { text: "a", style: "" },
      { text: "red", style: "ansi-red bold" },
      { text: " b", style: "" },
      { text: "green", style: "ansi-green" },
      { text: "!", style: "" },
    ]);
  });

  test("a line that was written over is shown as it was last", () => {
    expect(
      parseAnsi("10%\r50%\r100%\ndone\r\n")
        .map(({ text }) => text)
        .join(""),
    ).toBe("100%\ndone\n");
  });

  test("a link of a terminal is its text alone", () => {
    const shown = parseAnsi("\u001b]8;;javascript:run()\u0007click\u001b]8;;\u0007");
    expect(shown.map(({ text }) => text).join("")).toBe("click");
  });

  test("of a long output the end is shown, in little time", () => {
    const started = performance.now();
    const shown = parseAnsi(`${"\u001b[31mx".repeat(400_000)}the end`);
    expect(shown.at(-1)!.text).toContain("the end");
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe("diffs", () => {
  const lines = (text: string) => text.split("").join("\n");

  test("of two texts show what changed, with its numbers and its surroundings", () => {
    const diff = diffTexts(lines("abcdefghij"), lines("abcdeXghij"));
    expect(diff.map(({ type, text }) => type[0] + text)).toEqual([
      "s…",
      "sc",
      "sd",
      "se",
      "rf",
      "aX",
      "sg",
      "sh",
      "si",
    ]);
    expect(diff.find(({ type }) => type === "add")).toMatchObject({ before: null, after: 6 });
    expect(countChanges(diff)).toEqual({ added: 1, removed: 1 });
  });

  test("of a new file add every line", () => {
    expect(diffTexts(null, "a\nb\n").map(({ type }) => type)).toEqual(["add", "add"]);
  });

  test("of files too large to compare show the passage as replaced, in little time", () => {
    const text = (salt: string) => Array.from({ length: 20_000 }, (_, at) => salt + at).join("\n");
    const started = performance.now();
    expect(countChanges(diffTexts(text("a"), text("b")))).toEqual({ added: 20_000, removed: 20_000 });
    expect(performance.now() - started).toBeLessThan(2000);
  });

  test("as the API gives them keep their numbers", () => {
    const diff = parseUnified("--- a\n+++ b\n@@ -3,2 +3,2 @@\n same\n-old\n+new\n\\ No newline at end of file\n");
    expect(diff).toEqual([
      { type: "skip", text: "@@ -3,2 +3,2 @@", before: null, after: null },
      { type: "same", text: "same", before: 3, after: 3 },
      { type: "remove", text: "old", before: 4, after: null },
      { type: "add", text: "new", before: null, after: 4 },
    ]);
  });
});
