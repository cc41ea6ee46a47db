import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { editTool, replaceInFileTool, writeTool } from "../../src/tools/index.js";
import { bench } from "./bench.js";

describe("Write", () => {
  test("makes directories, tells undo first and shows the change", async () => {
    const { run, cwd, events, workspace } = await bench();
    const order: string[] = [];
    const watched = {
      ...workspace,
      willWrite: async (path: string) => void order.push(`before ${path}`),
      writeText: async (path: string, text: string) => {
        order.push(`write ${path}`);
        await workspace.writeText(path, text);
      },
    };
    const outcome = await run(writeTool, { path: "a/b/new.txt", content: "one\n" }, { workspace: watched });
    const path = join(cwd, "a/b/new.txt");
    expect(order).toEqual([`before ${path}`, `write ${path}`]);
    expect(await readFile(path, "utf8")).toBe("one\n");
    expect(outcome).toMatchObject({
      success: true,
      content: [{ type: "diff", path, old_text: null, new_text: "one\n" }],
    });
    expect(events).toEqual([
      {
        type: "file_edit",
        metadata: { path, change: "add", diff: "--- a/b/new.txt\n+++ a/b/new.txt\n@@ -0,0 +1,1 @@\n+one\n" },
      },
    ]);
  });

  test("replaces a file as an update and keeps its mode", async () => {
    const { run, file, events } = await bench();
    const path = await file("run.sh", "#!/bin/sh\n");
    const { chmod, stat } = await import("node:fs/promises");
    await chmod(path, 0o755);
    await run(writeTool, { path: "run.sh", content: "#!/bin/sh\necho hi\n" });
    expect((await stat(path)).mode & 0o777).toBe(0o755);
    expect(events[0]).toMatchObject({ metadata: { change: "update" } });
  });

  test("a change too large to show is still made", async () => {
    const { run, cwd, events } = await bench();
    const content = "x".repeat(1_000_000);
    const outcome = await run(writeTool, { path: "big.txt", content });
    expect(outcome).toMatchObject({ success: true, content: [] });
    expect(JSON.stringify(events).length).toBeLessThan(1000);
    expect(await readFile(join(cwd, "big.txt"), "utf8")).toBe(content);
  });
});

describe("Edit", () => {
  const edit = (old_string: string, new_string: string) => ({ path: "f.txt", old_string, new_string });

  test.each([
    ["plain", "a\nb\nc\n", "b", "B", "a\nB\nc\n"],
    ["CRLF kept when the model writes LF", "a\r\nb\r\nc\r\n", "a\nb", "A\nB", "A\r\nB\r\nc\r\n"],
    ["mixed endings stay as they are", "a\nb\r\nc\n", "b", "x", "a\nx\r\nc\n"],
    ["byte order mark kept", "\ufefffirst\nsecond\n", "first", "1st", "\ufeff1st\nsecond\n"],
    ["dollar signs are text", "price\n", "price", "$& $1 $$", "$& $1 $$\n"],
    ["deletion", "keep drop keep\n", " drop", "", "keep keep\n"],
    ["no newline at the end", "last", "last", "end", "end"],
  ])("%s", async (_, before, old, replacement, after) => {
    const { run, file } = await bench();
    const path = await file("f.txt", before);
    expect(await run(editTool, edit(old, replacement))).toMatchObject({ success: true });
    expect(await readFile(path, "utf8")).toBe(after);
  });

  test.each([
    ["several matches name their lines", "x\ny\nx\n", "x", /2 times .*lines 1, 3/],
    ["overlapping matches count", "aaa", "aa", /2 times/],
    ["no match", "abc", "xyz", /does not occur/],
    ["white space", "if (a) {\n\treturn;\n}\n", "if (a) {\n  return;\n}", /Lines 1-3 differ .*white space/],
    ["empty", "abc", "", /empty/],
    ["the same", "abc", "NEW", /same/],
  ])("refuses, helpfully: %s", async (_, before, old, message) => {
    const { run, file, events } = await bench();
    const path = await file("f.txt", before);
    const outcome = await run(editTool, edit(old, "NEW"));
    expect(outcome.success).toBe(false);
    expect(outcome.output).toMatch(message);
    expect(await readFile(path, "utf8")).toBe(before);
    expect(events).toEqual([]);
  });

  test("a file that is not text is not damaged", async () => {
    const { run, file } = await bench();
    const bytes = Buffer.from([0x68, 0x69, 0xff, 0x0a]);
    const path = await file("f.txt", bytes);
    expect(await run(editTool, edit("hi", "ho"))).toMatchObject({
      success: false,
      error: expect.stringContaining("not valid UTF-8"),
    });
    expect(await readFile(path)).toEqual(bytes);
  });

  test("an editor's buffer takes the place of the disk", async () => {
    const { run, file, workspace } = await bench();
    await file("f.txt", "on disk");
    let buffer = "unsaved";
    const editor = {
      ...workspace,
      readText: async () => buffer,
      writeText: async (_: string, text: string) => {
        buffer = text;
      },
    };
    expect(await run(editTool, edit("unsaved", "saved"), { workspace: editor })).toMatchObject({ success: true });
    expect(buffer).toBe("saved");
  });
});

describe("replace_in_file", () => {
  test("replaces every match with groups", async () => {
    const { run, file } = await bench();
    const path = await file("f.txt", "a1 b2\nc3\n");
    const outcome = await run(replaceInFileTool, { path: "f.txt", pattern: "([a-z])(\\d)", replacement: "$2$1" });
    expect(outcome).toMatchObject({ success: true, output: "Replaced 3 matches in f.txt." });
    expect(await readFile(path, "utf8")).toBe("1a 2b\n3c\n");
  });

  test("a pattern that never ends is cut off, and so is one that is wrong", async () => {
    const { run, file } = await bench();
    await file("f.txt", `${"a".repeat(60)}!`);
    const slow = await run(replaceInFileTool, { path: "f.txt", pattern: "(a+)+$", replacement: "" });
    expect(slow).toMatchObject({ success: false, error: expect.stringContaining("took more than") });
    const wrong = await run(replaceInFileTool, { path: "f.txt", pattern: "(", replacement: "" });
    expect(wrong).toMatchObject({ success: false, error: expect.stringContaining("cannot be used") });
  });
});
