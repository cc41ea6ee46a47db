/** @module-tag needs-git */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findRepositories } from "../src/index.js";

let ws: string;
const git = (directory: string, ...args: string[]): void => {
  mkdirSync(directory, { recursive: true });
  execFileSync("git", args, { cwd: directory, stdio: "ignore" });
};

beforeEach(() => {
  ws = realpathSync(mkdtempSync(join(tmpdir(), "repositories-")));
  git(ws, "init", "-q");
});
afterEach(() => rmSync(ws, { recursive: true, force: true }));

test("the workspace's own repository and harmless ones are not reported", async () => {
  git(ws, "config", "core.fsmonitor", "./watch");
  git(join(ws, "plain"), "init", "-q");
  expect(await findRepositories(ws)).toEqual({ suspects: [], complete: true });
});

test("a rebase is reported only if it would run programs", async () => {
  const todo = join(ws, ".git/rebase-merge/git-rebase-todo");
  mkdirSync(join(ws, ".git/rebase-merge"));
  writeFileSync(todo, "pick abc one\n");
  expect((await findRepositories(ws)).suspects).toEqual([]);
  writeFileSync(todo, "pick abc one\nexec touch x\n");
  expect((await findRepositories(ws)).suspects).toEqual([
    { path: join(ws, ".git"), reasons: ["rebase-merge/git-rebase-todo with exec"] },
  ]);
});

test("a bare repository with a program in its settings, a nested hook and a redirection are reported", async () => {
  const bare = join(ws, "deep/bare");
  git(bare, "init", "-q", "--bare", ".");
  git(bare, "config", "core.fsmonitor", "./x");
  git(join(ws, "nested"), "init", "-q");
  writeFileSync(join(ws, "nested/.git/hooks/pre-commit"), "");
  writeFileSync(join(ws, ".git/commondir"), "../elsewhere");
  const { suspects } = await findRepositories(ws);
  expect(suspects.map(({ path, reasons }) => [path.slice(ws.length + 1), reasons]).sort()).toEqual([
    [".git", ["commondir"]],
    ["deep/bare", ["fsmonitor = ./x"]],
    ["nested/.git", ["hooks/pre-commit"]],
  ]);
});

test.each([
  ["two headers on a line", "[a][core]fsmonitor=./x\n"],
  ["a bracket in a name", '[filter "a]b"]clean=./x\n'],
  ["a pager of one command", "[pager]\n\tlog = ./x\n"],
  ["an alias", "[alias]\n\tst = !./x\n"],
  ["a merge driver", '[merge "x"]\n\tdriver = ./x\n'],
  ["a filter of patches", "[interactive]\n\tdiffFilter = ./x\n"],
  ["other settings", "[include]\n\tpath = ../x\n"],
  ["a transport that is a program", '[remote "origin"]\n\turl = ext::sh -c ./x\n'],
  ["the same in quotes", '[remote "origin"]\n\turl = "ext":":"sh -c ./x\n'],
  ["a byte order mark", "\ufeff[core] fsmonitor = ./x\n"],
  ["a value on the next line", '[remote "origin"]\n\turl = \\\next::sh -c ./x\n'],
])("settings that run programs are reported: %s", async (_name, text) => {
  git(join(ws, "nested"), "init", "-q");
  writeFileSync(join(ws, "nested/.git/config"), text);
  expect((await findRepositories(ws)).suspects).toMatchObject([{ path: join(ws, "nested/.git") }]);
});

test("a clone is not reported", async () => {
  const from = join(ws, "from");
  git(from, "init", "-q");
  git(from, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x");
  git(ws, "clone", "-q", from, "copy");
  git(join(ws, "copy"), "branch", "--track", "other", "HEAD");
  git(join(ws, "copy"), "config", "extensions.worktreeConfig", "true");
  git(join(ws, "copy"), "sparse-checkout", "init", "--cone");
  expect((await findRepositories(ws)).suspects).toEqual([]);
});

test("a repository in parts, behind a pointer, or below a directory that only looks like one is reported", async () => {
  const repository = (path: string, settings = ""): void => {
    for (const name of ["objects", "refs"]) mkdirSync(join(ws, path, name), { recursive: true });
    for (const [name, text] of [
      ["HEAD", "ref: refs/heads/main\n"],
      ["config", settings],
    ] as const)
      writeFileSync(join(ws, path, name), text);
  };
  const evil = "[core]\n\tfsmonitor = ./x\n";
  mkdirSync(join(ws, "parts/.git"), { recursive: true });
  writeFileSync(join(ws, "parts/.git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(ws, "parts/.git/commondir"), "../elsewhere\n");
  repository(".git/kept", evil);
  mkdirSync(join(ws, "pointer"));
  repository("", "");
  repository("below/.git", evil);
  await sleep(100);
  const since = Date.now();
  writeFileSync(join(ws, "pointer/.git"), "gitdir: ../.git/kept\n");
  const found = async (after: number) =>
    (await findRepositories(ws, { since: after })).suspects.map(({ path }) => path);
  expect((await found(0)).sort()).toEqual([".git/kept", "below/.git", "parts/.git"].map((path) => join(ws, path)));
  expect(await found(since)).toEqual([join(ws, ".git/kept")]);
});

test("with `since` only new repositories are reported, and setting file times back does not help", async () => {
  git(join(ws, "old"), "init", "-q");
  git(join(ws, "old"), "config", "core.pager", "./x");
  await sleep(100);
  const since = Date.now();
  expect(await findRepositories(ws, { since })).toEqual({ suspects: [], complete: true });
  git(join(ws, "new"), "init", "-q", "--bare", ".");
  writeFileSync(join(ws, "new/config"), "[core] fsmonitor=./x\n");
  utimesSync(join(ws, "new/config"), 1, 1);
  const { suspects } = await findRepositories(ws, { since });
  expect(suspects).toEqual([{ path: join(ws, "new"), reasons: ["[core] fsmonitor=./x"] }]);
});

test("settings that would trap a reader are reported and not read", async () => {
  for (const name of ["pipe", "long"]) git(join(ws, name), "init", "-q", "--bare", ".");
  rmSync(join(ws, "pipe/config"));
  execFileSync("mkfifo", [join(ws, "pipe/config")]);
  writeFileSync(join(ws, "long/config"), "\n".repeat(2 ** 20));
  const { suspects } = await findRepositories(ws);
  expect(suspects.map(({ reasons }) => reasons)).toEqual([
    ["settings that cannot be read"],
    ["settings that cannot be read"],
  ]);
});

test("the nearest directories are searched first", async () => {
  git(join(ws, "a/b/c/deep"), "init", "-q", "--bare", ".");
  git(join(ws, "a/b/c/deep"), "config", "core.editor", "./x");
  git(join(ws, "near"), "init", "-q", "--bare", ".");
  git(join(ws, "near"), "config", "core.editor", "./x");
  const { suspects, complete } = await findRepositories(ws);
  expect(suspects.map(({ path }) => path)).toEqual([join(ws, "near"), join(ws, "a/b/c/deep")]);
  expect(complete).toBe(true);
});

test("a search that takes too long is reported as incomplete", async () => {
  expect(await findRepositories(ws, { withinMs: 0 })).toEqual({ suspects: [], complete: false });
});

test("a missing directory gives no results", async () => {
  expect(await findRepositories(join(ws, "nowhere"))).toEqual({ suspects: [], complete: true });
});
