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

test("only what is new is reported when it is asked for so; the time cannot be set back", async () => {
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

test("settings made to trap the reader are reported, not read", async () => {
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

test("the nearest directories are looked at first, and no more than was asked", async () => {
  git(join(ws, "a/b/c/deep"), "init", "-q", "--bare", ".");
  git(join(ws, "a/b/c/deep"), "config", "core.editor", "./x");
  git(join(ws, "near"), "init", "-q", "--bare", ".");
  git(join(ws, "near"), "config", "core.editor", "./x");
  const { suspects, complete } = await findRepositories(ws, { most: 4 });
  expect(suspects.map(({ path }) => path)).toEqual([join(ws, "near")]);
  expect(complete).toBe(false);
});

test("a search can be given up, and a missing directory has nothing", async () => {
  await expect(findRepositories(ws, { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(await findRepositories(join(ws, "nowhere"))).toEqual({ suspects: [], complete: true });
});
