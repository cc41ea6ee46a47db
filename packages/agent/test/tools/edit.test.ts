import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { editTool, readTool, replaceInFileTool, writeTool } from "../../src/tools/index.js";
import { bench } from "./bench.js";

describe("Write", () => {
  test("creates directories, notifies undo first and shows the change", async () => {
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
    [
      "what stands there instead",
      "a\nlet x = 10;\nb\n",
      "let x = 1;",
      /instead, with line numbers:\n1\ta\n2\tlet x = 10;\n3\tb\n/,
    ],
    ["empty", "abc", "", /empty/],
    ["the same", "abc", "NEW", /same/],
  ])("refuses with a helpful message: %s", async (_, before, old, message) => {
    const { run, file, events } = await bench();
    const path = await file("f.txt", before);
    const outcome = await run(editTool, edit(old, "NEW"));
    expect(outcome.success).toBe(false);
    expect(outcome.output).toMatch(message);
    expect(await readFile(path, "utf8")).toBe(before);
    expect(events).toEqual([]);
  });

  test("a binary file is not damaged", async () => {
    const { run, file } = await bench();
    const bytes = Buffer.from([0x68, 0x69, 0xff, 0x02, 0x0a]);
    const path = await file("f.txt", bytes);
    expect(await run(editTool, edit("hi", "ho"))).toMatchObject({
      success: false,
      error: expect.stringContaining("is a binary file"),
    });
    expect(await readFile(path)).toEqual(bytes);
  });

  test("several edits of one call are all found in the unchanged file, and all made", async () => {
    const { run, file } = await bench();
    const path = await file("f.txt", "x = a\ny = b\n");
    const edits = [
      { old_string: "= a", new_string: "= b" },
      { old_string: "= b", new_string: "= a" },
    ];
    expect(await run(editTool, { path: "f.txt", edits })).toMatchObject({ success: true });
    expect(await readFile(path, "utf8")).toBe("x = b\ny = a\n");
  });

  test.each([
    [
      "one is not there",
      [
        { old_string: "x", new_string: "X" },
        { old_string: "q", new_string: "Q" },
      ],
      /Edit 2 of 2: .*does not occur/s,
    ],
    [
      "two overlap",
      [
        { old_string: "x =", new_string: "X" },
        { old_string: "= a", new_string: "Q" },
      ],
      /same text/,
    ],
    ["one changes nothing", [{ old_string: "x", new_string: "x" }], /the same/],
    ["there are none", [], /Give old_string/],
  ])("several edits: none is made when %s", async (_, edits, message) => {
    const { run, file } = await bench();
    const path = await file("f.txt", "x = a\ny = b\n");
    const outcome = await run(editTool, { path: "f.txt", edits });
    expect(outcome).toMatchObject({ success: false, error: expect.stringMatching(message) });
    expect(await readFile(path, "utf8")).toBe("x = a\ny = b\n");
  });

  test.each([
    ["exact", "a a\na\n", "a", "$&b", "$&b $&b\n$&b\n"],
    ["overlapping", "aaa", "aa", "b", "ba"],
    [
      "by indentation",
      "\tx()\n\ty()\nz\n\t\tx()\n\t\ty()\n",
      "    x()\n    y()",
      "    x(1)\n    y()",
      "\tx(1)\n\ty()\nz\n\t\tx(1)\n\t\ty()\n",
    ],
  ])("replace_all: %s", async (_, before, old_string, new_string, after) => {
    const { run, file } = await bench();
    const path = await file("f.txt", before);
    const input = { path: "f.txt", old_string, new_string, replace_all: true };
    expect(await run(editTool, input)).toMatchObject({ success: true });
    expect(await readFile(path, "utf8")).toBe(after);
  });

  test("a passage of a large file is found off the main thread, whatever the rung", async () => {
    const { run, file } = await bench();
    const lines = Array.from({ length: 200_000 }, (_, at) => `\tline ${at}`);
    const path = await file("f.txt", lines.join("\n"));
    const old_string = "    line 150000\n    line 150001";
    const outcome = await run(editTool, edit(old_string, "    line 150000\n    changed"));
    expect(outcome).toMatchObject({ success: true, output: expect.stringContaining("indentation") });
    expect((await readFile(path, "utf8")).split("\n")[150_001]).toBe("\tchanged");
  });

  test("an editor's buffer replaces the file on disk", async () => {
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

describe("a file that has changed meanwhile", () => {
  test("Write does not overwrite a change that the model has not read; Edit keeps it", async () => {
    const { run, file } = await bench();
    const path = await file("f.txt", "one\ntwo\n");
    await run(readTool, { path: "f.txt" });
    await writeFile(path, "one\ntwo\nthree\n");
    const refused = await run(writeTool, { path: "f.txt", content: "mine\n" });
    expect(refused).toMatchObject({ success: false, error: expect.stringContaining("changed since you last read it") });
    expect(await readFile(path, "utf8")).toBe("one\ntwo\nthree\n");
    expect(await run(editTool, { path: "f.txt", old_string: "one", new_string: "1" })).toMatchObject({ success: true });
    expect(await run(writeTool, { path: "f.txt", content: "mine\n" })).toMatchObject({ success: false });
    await run(readTool, { path: "f.txt" });
    expect(await run(writeTool, { path: "f.txt", content: "mine\n" })).toMatchObject({ success: true });
    expect(await run(writeTool, { path: "f.txt", content: "again\n" })).toMatchObject({ success: true });
    expect(await readFile(path, "utf8")).toBe("again\n");
  });
});

describe("encodings", () => {
  const wide = (text: string) => Buffer.from(text, "utf16le");
  test.each([
    ["UTF-16", wide("\ufeffGrüße\r\nzwei\r\n"), wide("\ufeffGrüße\r\n2\r\nneu\r\n")],
    ["UTF-16, big end first", wide("\ufeffGrüße\nzwei\n").swap16(), wide("\ufeffGrüße\n2\nneu\n").swap16()],
    [
      "Latin-1",
      Buffer.from("Gr\xfc\xdfe \x93\x81\nzwei\n", "latin1"),
      Buffer.from("Gr\xfc\xdfe \x93\x81\n2\nneu\n", "latin1"),
    ],
    ["UTF-8 with a mark", Buffer.from("\ufeffGrüße\nzwei\n"), Buffer.from("\ufeffGrüße\n2\nneu\n")],
  ])("%s is read, edited and written back in the same encoding", async (_, before, after) => {
    const { run, file } = await bench();
    const path = await file("f.txt", before);
    expect((await run(readTool, { path: "f.txt" })).output).toMatch(/^1\tGrüße.*\n2\tzwei$/);
    const input = { path: "f.txt", old_string: "zwei", new_string: "2\nneu" };
    expect(await run(editTool, input)).toMatchObject({ success: true });
    expect(await readFile(path)).toEqual(after);
  });

  test("a pattern without a match shows no change", async () => {
    const { file, workspace } = await bench();
    await file("f.txt", "one\n");
    const input = { path: "f.txt", pattern: "two", replacement: "", flags: "" };
    const shown = replaceInFileTool.preview?.(input, { workspace, signal: new AbortController().signal });
    await expect(shown).rejects.toThrow("Nothing in f.txt matches two.");
  });

  test("Write keeps the encoding, the byte order mark and the line endings of the file", async () => {
    const { run, file } = await bench();
    const marked = await file("a.txt", "\ufeffone\r\ntwo\r\n");
    await run(writeTool, { path: "a.txt", content: "1\n2\n" });
    expect(await readFile(marked, "utf8")).toBe("\ufeff1\r\n2\r\n");
    const latin = await file("b.txt", Buffer.from("\xfc\n", "latin1"));
    await run(writeTool, { path: "b.txt", content: "“ä”\n" });
    expect(await readFile(latin)).toEqual(Buffer.from("\x93\xe4\x94\n", "latin1"));
  });

  test("a character outside the encoding is refused, and nothing is lost", async () => {
    const { run, file } = await bench();
    const path = await file("f.txt", Buffer.from("\xfc\n", "latin1"));
    const outcome = await run(editTool, { path: "f.txt", old_string: "ü", new_string: "→" });
    expect(outcome).toMatchObject({ success: false, error: expect.stringContaining('cannot hold "→" (U+2192)') });
    expect(await readFile(path)).toEqual(Buffer.from("\xfc\n", "latin1"));
  });
});

describe("replace_in_file", () => {
  test.each([
    ["^", "// top\n", "", "// top\n  import a;\n  import b;\n"],
    ["^\\s+", "", "m", "import a;\nimport b;\n"],
    ["^ +import", "export", "m", "export a;\nexport b;\n"],
    ["^", "\ufeff", "", "  import a;\n  import b;\n"],
  ])("leaves the byte order mark in front of what %j matches", async (pattern, replacement, flags, after) => {
    const { run, file } = await bench();
    for (const encoding of ["utf8", "utf16le"] as const) {
      const path = await file("f.txt", "");
      await writeFile(path, "\ufeff  import a;\n  import b;\n", encoding);
      expect(await run(replaceInFileTool, { path: "f.txt", pattern, replacement, flags })).toMatchObject({
        success: true,
      });
      expect(await readFile(path, encoding)).toBe(`\ufeff${after}`);
    }
  });

  test("replaces every match with groups", async () => {
    const { run, file } = await bench();
    const path = await file("f.txt", "a1 b2\nc3\n");
    const outcome = await run(replaceInFileTool, { path: "f.txt", pattern: "([a-z])(\\d)", replacement: "$2$1" });
    expect(outcome).toMatchObject({ success: true, output: "Replaced 3 matches in f.txt." });
    expect(await readFile(path, "utf8")).toBe("1a 2b\n3c\n");
  });

  test("an endless pattern is stopped, and an invalid one is refused", async () => {
    const { run, file } = await bench();
    await file("f.txt", `${"a".repeat(60)}!`);
    const slow = await run(replaceInFileTool, { path: "f.txt", pattern: "(a+)+$", replacement: "" });
    expect(slow).toMatchObject({ success: false, error: expect.stringContaining("took more than") });
    const wrong = await run(replaceInFileTool, { path: "f.txt", pattern: "(", replacement: "" });
    expect(wrong).toMatchObject({ success: false, error: expect.stringContaining("cannot be used") });
  });
});
