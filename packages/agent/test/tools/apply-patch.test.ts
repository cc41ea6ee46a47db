import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { applyPatchTool } from "../../src/tools/index.js";
import { bench } from "./bench.js";

const patch = (...lines: string[]) => ({ input: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") });

describe("apply_patch", () => {
  test("adds, updates, moves and deletes files in one call, each announced", async () => {
    const { run, file, cwd, events } = await bench();
    await file("a.txt", "one\ntwo\nthree\n");
    await file("gone.txt", "bye\n");
    await file("old.txt", "x\ny\n");
    const input = patch(
      "*** Add File: new/b.txt",
      "+first",
      "+",
      "*** Update File: a.txt",
      "@@",
      " one",
      "-two",
      "+2",
      " three",
      "*** Update File: old.txt",
      "*** Move to: moved.txt",
      "@@",
      " x",
      "-y",
      "+z",
      "*** Delete File: gone.txt",
    );
    const { success, output } = await run(applyPatchTool, input);
    expect(success, output).toBe(true);
    expect(output).toBe("Done:\nA new/b.txt\nM a.txt\nA moved.txt\nD old.txt\nD gone.txt");
    const text = (path: string) => readFile(join(cwd, path), "utf8");
    expect([await text("new/b.txt"), await text("a.txt"), await text("moved.txt")]).toEqual([
      "first\n\n",
      "one\n2\nthree\n",
      "x\nz\n",
    ]);
    expect([existsSync(join(cwd, "gone.txt")), existsSync(join(cwd, "old.txt"))]).toEqual([false, false]);
    expect(events.map(({ metadata }) => (metadata as { change: string }).change)).toEqual([
      "add",
      "update",
      "add",
      "delete",
      "delete",
    ]);
  });

  test.each([
    [
      "after its anchors",
      "class A:\n    def f():\n        x = 1\nclass B:\n    def f():\n        x = 1\n",
      ["@@ class B:", "@@     def f():", "-        x = 1", "+        x = 2"],
      "class A:\n    def f():\n        x = 1\nclass B:\n    def f():\n        x = 2\n",
    ],
    ["at the end", "x\ny\nx\n", ["@@", "-x", "+z", "*** End of File"], "x\ny\nz\n"],
    ["two hunks in order", "a\nx\nb\nx\n", ["@@", " a", "-x", "+1", "@@", " b", "-x", "+2"], "a\n1\nb\n2\n"],
    ["lines added after an anchor", "a\nb\n", ["@@ a", "+new"], "a\nnew\nb\n"],
    ["lines added to the end", "a\nb", ["@@", "+new"], "a\nb\nnew"],
    ["CRLF", "a\r\nb\r\nc\r\n", ["@@", " a", "-b", "+B", "+B2", " c"], "a\r\nB\r\nB2\r\nc\r\n"],
    [
      "other indentation",
      "\tf() {\n\t\ta()\n\t}\n",
      ["@@", "     f() {", "-        a()", "+        b()", "     }"],
      "\tf() {\n\t\tb()\n\t}\n",
    ],
    ["no marks around it", "a\nb\n", [" a", "-b", "+c"], "a\nc\n"],
    ["numbers of a unified diff", "a\nb\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+c"], "a\nc\n"],
    ["and what follows those numbers", "f:\na\nb\n", ["@@ -2,2 +2,2 @@ g:", " a", "-b", "+c"], "f:\na\nc\n"],
    ["an anchor that the hunk repeats", "f\nx\ng\nx\n", ["@@ g", " g", "-x", "+y"], "f\nx\ng\ny\n"],
    [
      "an anchor that the hunk repeats, and not its twin below",
      "class A:\n    def f():\n        x = 1\nclass B:\n    def f():\n        x = 1\n",
      ["@@ class A:", "@@     def f():", "     def f():", "-        x = 1", "+        x = 2"],
      "class A:\n    def f():\n        x = 2\nclass B:\n    def f():\n        x = 1\n",
    ],
    [
      "the last of many alike, before blank lines",
      `${"}\n".repeat(40)}\n \n`,
      ["@@", "-}", "+};", "*** End of File"],
      `${"}\n".repeat(39)}};\n\n \n`,
    ],
    ["the only place, although other lines follow it", "x\ny\n", ["@@", "-x", "+z", "*** End of File"], "z\ny\n"],
    ["numbers of a diff to an empty file", "", ["@@ -0,0 +1 @@", "+a"], "a\n"],
    ["an anchor that is the start of one line", "f():\nx\ng():\nx\n", ["@@ g", "-x", "+y"], "f():\nx\ng():\ny\n"],
    ["the start of a line, up to a bracket", "f(a):\nx\ng(a):\nx\n", ["@@ g(", "-x", "+y"], "f(a):\nx\ng(a):\ny\n"],
    [
      "marks of a patch in its context",
      "x\n*** Begin Patch\nw\n*** End Patch\nv\n",
      ["@@", "-x", "+X", " *** Begin Patch", " w", " *** End Patch", "-v", "+V"],
      "X\n*** Begin Patch\nw\n*** End Patch\nV\n",
    ],
    ["an anchor with nothing after it", "x\nz\nq\n", ["@@", "-x", "+y", "@@ z"], "y\nz\nq\n"],
    ["nothing but indentation", "a()\nb()\n", ["@@", "-a()", "+  a()", " b()"], "  a()\nb()\n"],
    ["no newline at the end", "a\nb", ["@@", "-b", "\\ No newline at end of file", "+c"], "a\nc"],
  ])("finds a hunk: %s", async (_, before, hunk, after) => {
    const { run, file } = await bench();
    const path = await file("f.txt", before);
    const { success, output } = await run(applyPatchTool, patch("*** Update File: f.txt", ...hunk));
    expect(success, output).toBe(true);
    expect(await readFile(path, "utf8")).toBe(after);
  });

  test.each([
    ["two places", ["*** Update File: f.txt", "@@", "-x", "+z"], /several times .*lines 1, 3/],
    [
      "two places that are both not at the end",
      ["*** Update File: f.txt", "@@", "-x", "+z", "*** End of File"],
      /several times .*lines 1, 3/,
    ],
    ["added lines with nothing but numbers", ["*** Update File: f.txt", "@@ -2,0 +3,1 @@", "+z"], /does not say where/],
    ["a line that is only a part", ["*** Update File: f.txt", "@@", "-long", "+z"], /do not occur/],
    ["an anchor that is not there", ["*** Update File: f.txt", "@@ nowhere", "-x", "+z"], /@@ nowhere does not occur/],
    ["the start of two lines as an anchor", ["*** Update File: f.txt", "@@ lon", "-x", "+z"], /@@ lon does not occur/],
    [
      "the start of a word as an anchor",
      ["*** Update File: f.txt", "@@ longes", "-x", "+z"],
      /@@ longes does not occur/,
    ],
    ["half of a character", ["*** Update File: f.txt", "@@", " y", "-x", "+\ud83d"], /half of a character/],
    ["a file that exists", ["*** Add File: f.txt", "+x"], /exists/],
    ["a file that is missing", ["*** Update File: none.txt", "@@", "-x", "+z"], /No such file/],
    ["the same file twice", ["*** Update File: f.txt", "@@", " y", "-x", "+z", "*** Delete File: f.txt"], /twice/],
    ["two contents of a file", ["*** Update File: f.txt", "*** Move to: made.txt", "@@", " y", "-x", "+z"], /twice/],
    ["a file outside", ["*** Delete File: ../work-outside/canary"], /outside the workspace/],
  ])("changes nothing for %s", async (_, lines, message) => {
    const { run, file, cwd, outside } = await bench();
    const path = await file("f.txt", "x\ny\nx\nlonger\nlongest\n");
    const outcome = await run(applyPatchTool, patch("*** Add File: made.txt", "+made", ...lines));
    expect(outcome).toMatchObject({ success: false, error: expect.stringMatching(message) });
    expect(await readFile(path, "utf8")).toBe("x\ny\nx\nlonger\nlongest\n");
    expect([existsSync(join(cwd, "made.txt")), existsSync(join(outside, "canary"))]).toEqual([false, true]);
  });

  test.each([
    ["a command", "apply_patch <<'EOF'\n", "\nEOF\n"],
    ["a fence", "```patch\n", "\n```"],
  ])("is understood inside %s", async (_, head, tail) => {
    const { run, file } = await bench();
    const path = await file("f.txt", "a\nb\n");
    const { input } = patch("*** Update File: f.txt", "@@", " a", "-b", "+c");
    expect(await run(applyPatchTool, { input: head + input + tail })).toMatchObject({ success: true });
    expect(await readFile(path, "utf8")).toBe("a\nc\n");
  });

  test("without marks around it, a mark in its context cuts nothing off", async () => {
    const { run, file } = await bench();
    const path = await file("f.txt", "x\n*** Begin Patch\nw\n");
    const other = await file("g.txt", "1\n");
    const lines = [
      "*** Update File: f.txt",
      "@@",
      "-x",
      "+y",
      " *** Begin Patch",
      "*** Update File: g.txt",
      "@@",
      "-1",
      "+2",
    ];
    expect(await run(applyPatchTool, { input: lines.join("\n") })).toMatchObject({ success: true });
    expect([await readFile(path, "utf8"), await readFile(other, "utf8")]).toEqual(["y\n*** Begin Patch\nw\n", "2\n"]);
  });

  test.each([
    ["", /empty/],
    ["hello", /Line 1 .*cannot be read/],
    ["*** Update File: a", /changes nothing/],
    ["*** Update File: a\n@@ x", /changes nothing/],
  ])("refuses an invalid patch before the person is asked: %j", async (input, message) => {
    const { workspace } = await bench();
    expect(() => applyPatchTool.describe({ input }, workspace)).toThrow(message);
  });
});
