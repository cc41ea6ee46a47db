import { execFile, execFileSync } from "node:child_process";
import { link, mkdir, readdir, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/index.js";
import {
  createSearchTool,
  editTool,
  listFilesTool,
  localWorkspace,
  readTool,
  replaceInFileTool,
  writeTool,
} from "../../src/tools/index.js";
import { type Bench, bench, CANARY } from "./bench.js";

const searchTool = createSearchTool();

/** A tool, and arguments for it that would do harm if the path were accepted. */
type PathCase = readonly [Tool, (path: string) => Record<string, unknown>];

/** The tools that open one file. They refuse anything else at the path. */
const ONE_FILE_TOOLS: readonly PathCase[] = [
  [readTool, (path) => ({ path })],
  [writeTool, (path) => ({ path, content: "overwritten" })],
  [editTool, (path) => ({ path, old_string: "outside", new_string: "OVERWRITTEN" })],
  [replaceInFileTool, (path) => ({ path, pattern: "outside", replacement: "OVERWRITTEN" })],
];

/** Every tool that takes a path. */
const FILE_TOOLS: readonly PathCase[] = [
  ...ONE_FILE_TOOLS,
  [searchTool, (path) => ({ path, pattern: "outside" })],
  [listFilesTool, (path) => ({ path })],
];

async function booby(): Promise<Bench> {
  const place = await bench();
  const { cwd, outside } = place;
  await mkdir(join(cwd, "a/b/c"), { recursive: true });
  await symlink(outside, join(cwd, "out"));
  await symlink("../../../out", join(cwd, "a/b/c/link2"));
  await symlink(join(outside, "canary"), join(cwd, "file-link"));
  await symlink(join(outside, "not-there-yet"), join(cwd, "dangling"));
  await symlink("../work-outside/also-not-there", join(cwd, "dangling-relative"));
  await symlink("loop-b", join(cwd, "loop-a"));
  await symlink("loop-a", join(cwd, "loop-b"));
  await place.file("plain", "a file\n");
  await place.file("nested/deep/file", "inside\n");
  execFileSync("mkfifo", [join(cwd, "fifo")]);
  return place;
}

const ESCAPES: readonly (readonly [string, (place: Bench) => string])[] = [
  ["absolute", ({ outside }) => join(outside, "canary")],
  ["parent", () => "../work-outside/canary"],
  ["parent after a directory", () => "nested/../../work-outside/canary"],
  ["many parents", () => `${"../".repeat(60)}etc/passwd`],
  ["sibling with the same beginning", ({ cwd }) => `${cwd}-outside/canary`],
  ["link to a directory", () => "out/canary"],
  ["chained links", () => "a/b/c/link2/canary"],
  ["link to a file", () => "file-link"],
  ["dangling link", () => "dangling"],
  ["dangling relative link", () => "dangling-relative"],
  ["procfs root", ({ outside }) => `/proc/self/root${outside}/canary`],
  ["procfs cwd", () => "/proc/self/cwd/../../../../../../etc/passwd"],
  ["procfs environment", () => "/proc/self/environ"],
  ["doubled slashes", ({ outside }) => `//${outside}//canary`],
  ["dots and slashes", ({ outside }) => `/./${outside}/./canary`],
  ["endless device", () => "/dev/zero"],
  ["terminal", () => "/dev/tty"],
  ["home", () => "~/.ssh/id_rsa"],
  ["another's home", () => "~root/.bashrc"],
  ["home alone", () => "~"],
  ["a file's URL", ({ outside }) => `file://${outside}/canary`],
  ["a file's URL with one slash", ({ outside }) => `FILE:${outside}/canary`],
  ["a URL", () => "https://example.test/x"],
  ["an editor's URL", () => "vscode-remote://ssh/x"],
  ["NUL", () => "a\0b"],
  ["NUL after an honest name", ({ cwd }) => `${cwd}/plain\0/../../x`],
  ["empty", () => ""],
  ["a file as a directory", () => "plain/below"],
  ["links in a circle", () => "loop-a"],
  ["a name too long", () => "x".repeat(300)],
  ["a path too long", () => "d/".repeat(3000)],
];

describe.each(FILE_TOOLS.map(([tool, input]) => [tool.name, tool, input] as const))(
  "%s stays in the workspace",
  (_, tool, input) => {
    test.each(ESCAPES)("%s", async (_, path) => {
      const place = await booby();
      const outcome = await place.run(tool, input(path(place)));
      expect(outcome.success).toBe(false);
      expect(outcome.output).not.toContain("the outside must not be touched");
      expect(await readFile(join(place.outside, "canary"), "utf8")).toBe(CANARY);
      expect(await readdir(place.outside)).toEqual(["canary"]);
    });
  },
);

describe("anything but a regular file", () => {
  test.each(ONE_FILE_TOOLS.map(([tool, input]) => [tool.name, tool, input] as const))(
    "%s does not wait on a pipe",
    async (_, tool, input) => {
      const { run } = await booby();
      const started = performance.now();
      expect(await run(tool, input("fifo"))).toMatchObject({ success: false });
      expect(performance.now() - started).toBeLessThan(4000);
    },
  );

  test("a directory is not read, written or edited as a file", async () => {
    const { run } = await booby();
    for (const [tool, input] of ONE_FILE_TOOLS)
      expect(await run(tool, input("nested"))).toMatchObject({ success: false });
  });

  test("a device is not read even when it is permitted", async () => {
    const { run } = await booby();
    const permitted = { reads: ["/dev/zero"], writes: [] };
    expect(await run(readTool, { path: "/dev/zero" }, { permitted })).toMatchObject({
      success: false,
      error: expect.stringContaining("device"),
    });
  });
});

describe("allowed paths", () => {
  test("a link that stays inside is followed", async () => {
    const { run, cwd } = await booby();
    await symlink("nested/deep", join(cwd, "short"));
    expect(await run(readTool, { path: "short/file" })).toMatchObject({ success: true, output: "1\tinside" });
    expect(await run(writeTool, { path: "short/new", content: "x" })).toMatchObject({ success: true });
    expect(await readFile(join(cwd, "nested/deep/new"), "utf8")).toBe("x");
  });

  test("an additional directory counts as inside", async () => {
    const { run, cwd } = await bench(["work-outside"]);
    expect(await run(readTool, { path: join(cwd, "../work-outside/canary") })).toMatchObject({
      output: `1\t${CANARY.trimEnd()}`,
    });
  });

  test("the workspace itself may be a link", async () => {
    const { run, cwd, outside } = await booby();
    const alias = join(outside, "alias");
    await symlink(cwd, alias);
    const workspace = localWorkspace(alias);
    expect(await run(readTool, { path: "plain" }, { workspace })).toMatchObject({ success: true });
    expect(await run(readTool, { path: join(alias, "plain") }, { workspace })).toMatchObject({ success: true });
  });

  test("unusual names are accepted", async () => {
    const { run, cwd } = await bench();
    for (const path of ["…/x", "..x", "a b\n.txt", "é\u0301", "~x", "-rf", "$(id)", "file", "a:b", "12:30://x"]) {
      expect(await run(writeTool, { path, content: path })).toMatchObject({ success: true });
      expect(await readFile(join(cwd, path), "utf8")).toBe(path);
    }
  });

  test("outside the workspace, exactly the permitted paths", async () => {
    const { run, outside } = await booby();
    const canary = join(outside, "canary");
    const permitted = { reads: [canary], writes: [canary] };
    expect(await run(readTool, { path: canary }, { permitted })).toMatchObject({ output: `1\t${CANARY.trimEnd()}` });
    expect(await run(writeTool, { path: join(outside, "other"), content: "" }, { permitted })).toMatchObject({
      success: false,
    });
  });

  test("a link that moved after the permission is refused", async () => {
    const { run, cwd, workspace } = await booby();
    await symlink("plain", join(cwd, "moving"));
    const { touches: permitted } = writeTool.describe({ path: "moving", content: "" }, workspace);
    await rm(join(cwd, "moving"));
    await mkdir(join(cwd, ".git"));
    await symlink(".git/hook", join(cwd, "moving"));
    expect(await run(writeTool, { path: "moving", content: "x" }, { permitted })).toMatchObject({ success: false });
    expect(await readdir(join(cwd, ".git"))).toEqual([]);
  });

  test("a hard link elsewhere keeps its content", async () => {
    const { run, cwd, outside } = await bench();
    await link(join(outside, "canary"), join(cwd, "hard"));
    expect(await run(editTool, { path: "hard", old_string: "must", new_string: "may" })).toMatchObject({
      success: true,
    });
    expect(await readFile(join(outside, "canary"), "utf8")).toBe(CANARY);
    expect(await readFile(join(cwd, "hard"), "utf8")).toContain("may not");
  });
});

const FLIPPER = `
  const fs = require("node:fs");
  const [, swap, outside] = process.argv;
  for (let flips = 0; flips < 300; ) {
    try {
      fs.rmSync(swap, { recursive: true, force: true });
      fs.symlinkSync(outside, swap);
      fs.unlinkSync(swap);
      fs.mkdirSync(swap);
      fs.writeFileSync(swap + "/canary", "inside");
      flips += 1;
      if (flips % 4 === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    } catch {}
  }
`;

test("a directory that keeps turning into a link never leads outside", async () => {
  const { run, cwd, outside } = await bench();
  const flipper = promisify(execFile)(process.execPath, ["-e", FLIPPER, join(cwd, "swap"), outside], {
    timeout: 20_000,
  });
  let running = true;
  void flipper.finally(() => {
    running = false;
  });
  let written = 0;
  while (running) {
    const outcomes = [
      await run(writeTool, { path: "swap/canary", content: "OVERWRITTEN" }),
      await run(writeTool, { path: "swap/sub/new", content: "OVERWRITTEN" }),
    ];
    written += outcomes.filter(({ success }) => success).length;
    const { output } = await run(readTool, { path: "swap/canary" });
    expect(output).not.toContain("must not be touched");
  }
  await flipper;
  expect(written).toBeGreaterThan(0);
  expect(await readFile(join(outside, "canary"), "utf8")).toBe(CANARY);
  expect(await readdir(outside)).toEqual(["canary"]);
});
