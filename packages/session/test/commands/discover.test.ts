import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { discoverCommands } from "../../src/commands.js";

function tree(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), "session-commands-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

test("the project comes before the user, the plural directory before the singular", async () => {
  const home = tree({
    ".opencode/command/a.md": "home singular",
    ".opencode/command/b.md": "home singular",
    ".opencode/command/c.md": "home singular",
    ".opencode/command/d.md": "home singular",
    ".opencode/commands/b.md": "home plural",
    ".opencode/commands/c.md": "home plural",
    ".opencode/commands/d.md": "home plural",
  });
  const cwd = tree({
    ".opencode/command/c.md": "project singular",
    ".opencode/command/d.md": "project singular",
    ".opencode/commands/d.md": "project plural",
  });
  const found = await discoverCommands({ home, cwd });
  expect(found.map(({ name, body }) => [name, body])).toEqual([
    ["a", "home singular"],
    ["b", "home plural"],
    ["c", "project singular"],
    ["d", "project plural"],
  ]);
  expect(found[3]?.source).toBe(join(cwd, ".opencode/commands/d.md"));
});

test("a file that cannot be a command does not hide others", async () => {
  const cwd = tree({
    ".opencode/command/good.md": "fine",
    ".opencode/command/empty.md": "\n",
    ".opencode/command/notes.txt": "no",
    ".opencode/command/huge.md": "x".repeat(300 * 1024),
    ".opencode/command/folder.md/inner.md": "no",
  });
  symlinkSync("/nonexistent", join(cwd, ".opencode/command/dangling.md"));
  writeFileSync(join(cwd, ".opencode/command/.#good.md"), "an editor's lock");
  execFileSync("mkfifo", [join(cwd, ".opencode/command/fifo.md")]);
  expect((await discoverCommands({ home: "/nonexistent", cwd })).map(({ name }) => name)).toEqual(["good"]);
});

test("a project's command is a file of the project; the user's own may be kept elsewhere", async () => {
  const elsewhere = tree({ "canary.md": "not yours", "folder/inner.md": "not yours" });
  const cwd = tree({ ".opencode/command/own.md": "own", "docs/shared.md": "shared" });
  const home = tree({ ".opencode/command/kept.md": "kept" });
  symlinkSync("../../docs/shared.md", join(cwd, ".opencode/command/inside.md"));
  symlinkSync(join(elsewhere, "canary.md"), join(cwd, ".opencode/command/outside.md"));
  symlinkSync(join(elsewhere, "folder"), join(cwd, ".opencode/commands"));
  symlinkSync(join(elsewhere, "canary.md"), join(home, ".opencode/command/linked.md"));
  const names = async (at: string) => (await discoverCommands({ home, cwd: at })).map(({ name }) => name);
  expect(await names(cwd)).toEqual(["inside", "kept", "linked", "own"]);
  expect(await names(home)).toEqual(["kept", "linked"]);
});

test("without directories there are no commands", async () => {
  expect(await discoverCommands({ home: "/nonexistent", cwd: "/nonexistent" })).toEqual([]);
});

test("files that are slow to read do not block the event loop", async () => {
  const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}: v`).join("\n");
  const names = Array.from({ length: 20 }, (_, at) => `c${String(at).padStart(2, "0")}`);
  const files = names.map((name) => [`.opencode/commands/${name}.md`, `---\n${keys}\n---\nbody`]);
  const cwd = tree({
    ...Object.fromEntries(files),
    ".opencode/commands/breaks.md": `a${"\n".repeat(200_000)}z\n\n`,
  });
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  });
  const found = await discoverCommands({ home: tree({}), cwd });
  clearInterval(ticking);
  expect(found.map(({ name }) => name)).toEqual(["breaks", ...names]);
  expect(found[0]?.body).toHaveLength(200_002);
  // A head of this length is not read, and is part of the prompt.
  expect(found[1]?.body.startsWith("---\nk0: v")).toBe(true);
  expect(turns).toBeGreaterThan(0);
});
