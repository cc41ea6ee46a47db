import { symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSearchTool, listFilesTool } from "../../src/tools/index.js";
import { type Bench, bench } from "./bench.js";

async function project(): Promise<Bench> {
  const place = await bench();
  await place.file(".gitignore", "dist/\n*.log\n!keep.log\n");
  await place.file("src/.gitignore", "/secret.ts\n");
  await place.file("src/main.ts", "export const needle = 1;\nconst other = 2;\n");
  await place.file("src/secret.ts", "needle\n");
  await place.file("src/deep/util.test.ts", "// a Needle here\n");
  await place.file("dist/out.js", "needle\n");
  await place.file("a.log", "needle\n");
  await place.file("keep.log", "needle\n");
  await place.file("node_modules/x/index.js", "needle\n");
  await place.file(".git/config", "needle\n");
  await place.file("image.bin", Buffer.from([110, 0, 110]));
  await symlink(place.outside, join(place.cwd, "link"));
  return place;
}

describe.each([
  ["ripgrep", true],
  ["the walk", false],
])("search with %s", (_, ripgrep) => {
  const searchTool = createSearchTool({ ripgrep });

  test.each([
    [{ pattern: "needle" }, "keep.log:1:needle\nsrc/main.ts:1:export const needle = 1;"],
    [
      { pattern: "needle", ignore_case: true, glob: "*.ts" },
      "src/deep/util.test.ts:1:// a Needle here\nsrc/main.ts:1:export const needle = 1;",
    ],
    [
      { pattern: "const \\w+ = \\d", path: "src/main.ts" },
      "src/main.ts:1:export const needle = 1;\nsrc/main.ts:2:const other = 2;",
    ],
    [{ pattern: "needle", path: "src", glob: "deep/**" }, "No matches."],
    [{ pattern: "--version" }, "No matches."],
    [{ pattern: "must not be touched" }, "No matches."],
  ])("%j", async (input, output) => {
    const { run } = await project();
    expect(await run(searchTool, input)).toEqual({ success: true, output });
  });

  test("files that may hold secrets are not searched, but counted, whether they match or not", async () => {
    const { run, file } = await project();
    for (const name of [".env", ".env.staging", "keys/id_rsa", "src/server.key", "home/.ssh/config"])
      await file(name, "needle\n");
    for (const name of [".env.example", "src/key.ts"]) await file(name, "needle\n");
    const found = "needle\nkeep.log:1:needle\nsrc/key.ts:1:needle\nsrc/main.ts:1:export const needle = 1;";
    const notice = (count: number) =>
      `\n[not searched: ${count} files that may hold secrets; give one as path to ask for it]`;
    const outputOf = async (input: Record<string, unknown>) => (await run(searchTool, input)).output;
    expect(await outputOf({ pattern: "needle" })).toBe(`.env.example:1:${found}${notice(5)}`);
    expect(await outputOf({ pattern: "no such thing" })).toBe(`No matches.${notice(5)}`);
    expect(await outputOf({ pattern: "needle", glob: "*.ts" })).not.toContain("not searched");
    expect(await outputOf({ pattern: "needle", path: "src" })).toContain(notice(1));
    expect(await outputOf({ pattern: "needle", path: ".env.staging" })).toBe(".env.staging:1:needle");
    expect(await outputOf({ pattern: "needle", path: "home/.ssh" })).toBe("home/.ssh/config:1:needle");
  });

  test("an invalid pattern gives an error result", async () => {
    const { run } = await project();
    expect(await run(searchTool, { pattern: "(" })).toMatchObject({
      success: false,
      error: expect.stringContaining("cannot be used"),
    });
  });

  test("a flood of matches is cut off", async () => {
    const { run, file } = await bench();
    await file("many.txt", "match\n".repeat(50_000));
    const { output } = await run(searchTool, { pattern: "match" });
    expect(output.length).toBeLessThanOrEqual(30_000);
    expect(output).toContain("[more matches");
  });

  test("an ignore file that would use up memory is ignored", async () => {
    const { run, file } = await bench();
    await file("a.txt", "needle\n");
    await file("sub/.gitignore", `${"a".repeat(60)}\n`.repeat(400_000));
    await file("sub/b.txt", "needle\n");
    const { output } = await run(searchTool, { pattern: "needle" });
    expect(output).toBe("a.txt:1:needle\nsub/b.txt:1:needle");
  });

  test("an abort ends it", async () => {
    const { run } = await project();
    await expect(run(searchTool, { pattern: "x" }, { signal: AbortSignal.abort() })).rejects.toThrow();
  });
});

describe("list_files", () => {
  test.each([
    [{}, [".gitignore", "image.bin", "keep.log", "link", "src/.gitignore", "src/deep/util.test.ts", "src/main.ts"]],
    [{ glob: "*.ts" }, ["src/deep/util.test.ts", "src/main.ts"]],
    [{ glob: "src/*.ts" }, ["src/main.ts"]],
    [{ glob: "**/*.{test.ts,log}" }, ["keep.log", "src/deep/util.test.ts"]],
    [{ path: "src", glob: "deep/**" }, ["src/deep/util.test.ts"]],
  ])("%j", async (input, paths) => {
    const { run } = await project();
    expect((await run(listFilesTool, input)).output.split("\n")).toEqual(paths);
  });

  test("stops at a thousand and says so", async () => {
    const { run, file } = await bench();
    await Promise.all(Array.from({ length: 1010 }, (_, n) => file(`f${n}`, "")));
    const lines = (await run(listFilesTool, {})).output.split("\n");
    expect(lines).toHaveLength(1001);
    expect(lines.at(-1)).toContain("more than 1000 files");
  });

  test("an endless ignore file costs nothing", async () => {
    const { run, file, cwd } = await bench();
    await file(".gitignore", "a.txt\n");
    await truncate(join(cwd, ".gitignore"), 450 * 1024 * 1024);
    await file("a.txt", "");
    const before = process.resourceUsage().maxRSS;
    expect((await run(listFilesTool, {})).output).toBe(".gitignore\na.txt");
    expect(process.resourceUsage().maxRSS - before).toBeLessThan(100 * 1024);
  });

  test("a file is not a directory", async () => {
    const { run, file } = await bench();
    await file("f", "");
    expect(await run(listFilesTool, { path: "f" })).toMatchObject({ success: false, error: "f is not a directory." });
  });
});
