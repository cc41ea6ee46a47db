import { type Dirent, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { entryAt, readSmall, tried } from "./confine/paths.js";
import { suspectSettings } from "./git-settings.js";

/** A git directory that makes git run a program, in a place where a command could have put it. */
export interface SuspectRepository {
  readonly path: string;
  /** The settings, hooks or files that run programs or redirect git. */
  readonly reasons: readonly string[];
}

export interface RepositorySearch {
  readonly suspects: readonly SuspectRepository[];
  /** False when a limit was reached before the end of the search. */
  readonly complete: boolean;
}

export interface RepositorySearchOptions {
  /** Report only what has changed since this time, in epoch milliseconds. @defaultValue everything */
  readonly since?: number;
  /** Time limit in milliseconds. @defaultValue 1,000 */
  readonly withinMs?: number;
}

/** Most directories to search, starting with those near the root. */
const MAX_DIRECTORIES = 20_000;
const MAX_MS = 1000;

/** How often other work may run. File access is synchronous, which is ten times faster. */
const SLICE_MS = 5;

/** How far the file system's clock may be behind the clock of `since`. */
const CLOCK_LAG_MS = 20;

/**
 * Searches below `root` for repositories that run programs. The sandbox cannot prevent those in subdirectories, so they are reported.
 *
 * @example
 * const { suspects } = await findRepositories(cwd, { since: startedAt });
 */
export async function findRepositories(root: string, options: RepositorySearchOptions = {}): Promise<RepositorySearch> {
  const { since = 0, withinMs = MAX_MS } = options;
  const suspects: SuspectRepository[] = [];
  const own = join(root, ".git");
  const report = (path: string, after: number): void => {
    const reasons = reasonsIn(path, path === own, after);
    if (reasons.length > 0) suspects.push({ path, reasons });
  };
  const changedAfter = since - CLOCK_LAG_MS;
  const waiting = [root];
  let complete = true;
  const started = performance.now();
  let rested = started;
  for (const path of waiting) {
    if (performance.now() - started > withinMs) return { suspects, complete: false };
    if (performance.now() - rested > SLICE_MS) {
      await breathe();
      rested = performance.now();
    }
    const entries = entriesOf(path);
    if (isRepository(entries)) {
      report(path, changedAfter);
      // People do not work inside a `.git`. But a directory that only looks like a repository must not hide those below it.
      if (basename(path) === ".git") continue;
    }
    for (const entry of entries) {
      if (entry.isDirectory()) waiting.push(join(path, entry.name));
      else if (entry.name === ".git") {
        const pointer = join(path, ".git");
        // A new pointer may lead to an old directory, so report that whatever its age.
        report(targetOf(pointer), isChanged(pointer, changedAfter) ? 0 : changedAfter);
      }
    }
    complete &&= waiting.length <= MAX_DIRECTORIES;
    waiting.length = Math.min(waiting.length, MAX_DIRECTORIES);
  }
  return { suspects, complete };
}

// --- internal ---

function entriesOf(path: string): Dirent[] {
  return tried(() => readdirSync(path, { withFileTypes: true })) ?? [];
}

/** Decides like git: with a `commondir` the other files may be elsewhere. */
function isRepository(entries: readonly Dirent[]): boolean {
  const has = (name: string) => entries.some((entry) => entry.name === name);
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

/** The target of a `.git` that is a file or a link. */
function targetOf(pointer: string): string {
  const named = /^gitdir: (.+)/.exec(readSmall(pointer) ?? "")?.[1];
  return named === undefined ? pointer : resolve(pointer, "..", named);
}

/** The reasons in a git directory. The workspace's own settings and hooks are its owner's, but a `commondir` would replace them. */
function reasonsIn(path: string, own: boolean, since: number): string[] {
  const common = join(path, "commondir");
  // A `commondir` with "." is the sandbox's placeholder.
  const redirected = isChanged(common, since) && readSmall(common) !== ".\n" ? ["commondir"] : [];
  const todo = join(path, "rebase-merge/git-rebase-todo");
  // A continued rebase runs the commands of its list. Git itself must be able to write such a file.
  const listed = isChanged(todo, since) && /^\s*(exec|x)\s/m.test(readSmall(todo) ?? "exec ");
  const led = [...redirected, ...(listed ? ["rebase-merge/git-rebase-todo with exec"] : [])];
  if (own) return led;
  const settings = ["config", "config.worktree"].flatMap((name) => settingsIn(join(path, name), since));
  const hooks = entriesOf(join(path, "hooks"))
    .map((entry) => entry.name)
    .filter((name) => !name.endsWith(".sample") && isChanged(join(path, "hooks", name), since))
    .map((name) => `hooks/${name}`);
  return [...led, ...settings, ...hooks];
}

function settingsIn(path: string, since: number): string[] {
  if (!isChanged(path, since)) return [];
  const text = readSmall(path);
  return text === undefined ? ["settings that cannot be read"] : suspectSettings(text);
}

/** Compares the change time, which a program cannot set, unlike the modification time. */
function isChanged(path: string, since: number): boolean {
  const entry = entryAt(path);
  return entry !== undefined && entry.ctimeMs >= since;
}
