import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

test("a search can be given up, and a missing directory has nothing", async () => {
  await expect(findRepositories(ws, AbortSignal.abort())).rejects.toThrow();
  expect(await findRepositories(join(ws, "nowhere"))).toEqual({ suspects: [], complete: true });
});
