import { describe, expect, test } from "vitest";
import { readTool } from "../../src/tools/index.js";
import { bench } from "./bench.js";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

describe("Read", () => {
  test("returns the lines of a text file with their numbers, and emits the place", async () => {
    const { run, file, events } = await bench();
    const path = await file("a.txt", "\ufeffeins\r\nzwei\r\n");
    expect(await run(readTool, { path: "a.txt" })).toEqual({ success: true, output: "1\teins\n2\tzwei" });
    expect(events).toEqual([{ type: "file_open", metadata: { path } }]);
  });

  test.each([
    [{ offset: 2, limit: 1 }, "2\ttwo\n[lines 2-2 of 3; continue with offset 3]"],
    [{ offset: 3 }, "3\tthree\n[lines 3-3 of 3]"],
    [{ limit: 2 }, "1\tone\n2\ttwo\n[lines 1-2 of 3; continue with offset 3]"],
    [{ offset: 9 }, "[the file has 3 lines]"],
  ])("a range of lines %j", async (range, output) => {
    const { run, file } = await bench();
    await file("a.txt", "one\ntwo\nthree\n");
    expect(await run(readTool, { path: "a.txt", ...range })).toMatchObject({ success: true, output });
  });

  test("a long file comes in parts that join to the whole", async () => {
    const { run, file } = await bench();
    const lines = Array.from({ length: 5000 }, (_, n) => `line ${n}`);
    await file("long.txt", `${lines.join("\n")}\n`);
    const seen: string[] = [];
    for (let offset = 1; offset > 0; ) {
      const { output } = await run(readTool, { path: "long.txt", offset });
      expect(output.length).toBeLessThan(30_200);
      const parts = output.split("\n");
      offset = Number(/continue with offset (\d+)/.exec(parts.pop() ?? "")?.[1] ?? 0);
      seen.push(...parts);
    }
    expect(seen).toEqual(lines.map((line, at) => `${at + 1}\t${line}`));
  });

  test("an endless line is cut", async () => {
    const { run, file } = await bench();
    await file("one.txt", "x".repeat(100_000));
    expect((await run(readTool, { path: "one.txt" })).output.length).toBeLessThan(30_100);
  });

  test("a binary file is refused politely", async () => {
    const { run, file } = await bench();
    await file("a.bin", Buffer.from([1, 2, 0, 4]));
    expect(await run(readTool, { path: "a.bin" })).toMatchObject({
      success: false,
      error: "a.bin is a binary file of 4 bytes; its content is not text.",
    });
  });

  test("a picture goes to models that can see", async () => {
    const { run, file } = await bench();
    await file("a.png", PNG);
    const outcome = await run(readTool, { path: "a.png" });
    expect(outcome).toMatchObject({ success: true, images: [{ mimeType: "image/png", data: PNG.toString("base64") }] });
  });

  test("a picture that a provider would refuse, with every later request, is not shown", async () => {
    const { file, run } = await bench();
    await file("large.png", Buffer.concat([PNG, Buffer.alloc(4 * 1024 * 1024)]));
    const outcome = await run(readTool, { path: "large.png" });
    expect(outcome).toMatchObject({ success: false, error: expect.stringContaining("can be shown") });
  });

  test("a file that only an editor has is read from the editor", async () => {
    const { run, workspace } = await bench();
    const editor = { ...workspace, readText: async () => "not saved yet" };
    expect(await run(readTool, { path: "new.txt" }, { workspace: editor })).toMatchObject({
      output: "1\tnot saved yet",
    });
  });

  test("a missing file and a directory are errors with a reason", async () => {
    const { run, cwd } = await bench();
    expect((await run(readTool, { path: "none.txt" })).error).toBe(`No such file or directory: ${cwd}/none.txt`);
    expect((await run(readTool, { path: "." })).error).toContain("is a directory");
  });
});
