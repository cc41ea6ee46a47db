import { applyPatch } from "diff";
import { describe, expect, test } from "vitest";
import { unifiedHunks } from "../src/files.js";

const numbered = (count: number, word = "line") => Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join("");

/** The hunks make the old text into the new one; how many lines they change. */
async function applied(before: string, after: string): Promise<number> {
  const hunks = await unifiedHunks(before, after);
  expect(hunks).not.toBeNull();
  expect(applyPatch(before, `--- a\n+++ b\n${hunks}`)).toBe(after);
  return hunks!.match(/^[-+]/gm)?.length ?? 0;
}

test.each([
  ["nothing", "a\nb\n", "a\nb\n", ""],
  ["a new text", "", "one\n", "@@ -0,0 +1,1 @@\n+one\n"],
  ["a text that goes", "one\n", "", "@@ -1,1 +0,0 @@\n-one\n"],
  [
    "no line break at the end",
    "a\nb",
    "a\nc",
    "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
  ],
  ["a line break that comes", "a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"],
  [
    "a line added in the middle",
    numbered(9),
    numbered(9).replace("line 4\n", "line 4\nnew\n"),
    "@@ -3,6 +3,7 @@\n line 2\n line 3\n line 4\n+new\n line 5\n line 6\n line 7\n",
  ],
  ["lines alike", "}\n}\n}\n", "}\n}\n", "@@ -1,3 +1,2 @@\n }\n }\n-}\n"],
])("%s", async (_, before, after, hunks) => {
  expect(await unifiedHunks(before, after)).toBe(hunks);
});

test("changes far apart are hunks of their own, and near ones share one", async () => {
  const before = numbered(40);
  const change = (...at: number[]) =>
    at.reduce((text, line) => text.replace(`line ${line}\n`, `LINE ${line}\n`), before);
  expect((await unifiedHunks(before, change(5, 30)))?.match(/^@@/gm)).toHaveLength(2);
  expect((await unifiedHunks(before, change(5, 12)))?.match(/^@@/gm)).toHaveLength(1);
  expect((await unifiedHunks(before, change(5, 13)))?.match(/^@@/gm)).toHaveLength(2);
});

test("a diff of any two texts makes one into the other", async () => {
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  const words = ["a\n", "b\n", "}\n", "\n", "x\r\n", "other\n"];
  for (let round = 0; round < 400; round += 1) {
    const lines = Array.from({ length: random(40) }, () =>
      random(3) === 0 ? `unique ${random(1e6)}\n` : words[random(6)]!,
    );
    const edited = lines.flatMap((line) => [[line], [], [line, words[random(6)]!], ["new\n"]][random(12)] ?? [line]);
    const moved = random(4) === 0 ? [...edited.slice(5), ...edited.slice(0, 5)] : edited;
    const [before, after] = [lines, moved].map((each) => each.join("") + (random(3) === 0 ? "end" : ""));
    await applied(before!, after!);
  }
});

describe("large texts", () => {
  test("thousands of scattered changes are shown one by one", async () => {
    const before = numbered(30_000);
    const after = before.replace(/line (\d*7)\n/g, "LINE $1\n");
    expect(await applied(before, after)).toBe(2 * 3000);
  });

  test("texts with nothing in common are replaced", async () => {
    expect(await applied(numbered(150_000, "old"), numbered(150_000, "new"))).toBe(300_000);
    expect(await applied("a\nb\n".repeat(10_000), "b\nc\n".repeat(10_000))).toBe(40_000);
  });

  test("too many lines are not compared", async () => {
    expect(await unifiedHunks("\n".repeat(600_000), "x\n")).toBeNull();
  });

  test("other work of the process continues meanwhile", async () => {
    const before = numbered(50_000);
    const after = before.replace(/line (\d*[02468])\n/g, "LINE $1\n");
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    });
    await unifiedHunks(before, after);
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(1);
  });
});
