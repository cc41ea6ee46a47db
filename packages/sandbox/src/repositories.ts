import { type Dirent, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { entryAt, readSmall, tried } from "./confine/paths.js";
import { suspectSettings } from "./git-settings.js";

/** A git directory that makes git run something, found where a command could have put it. */
export interface SuspectRepository {
  readonly path: string;
  /** Settings, hooks or files that run programs or redirect git. */
  readonly reasons: readonly string[];
}

export interface RepositorySearch {
  readonly suspects: readonly SuspectRepository[];
  /** False when a bound was reached before everything was seen. */
  readonly complete: boolean;
}

export interface RepositorySearchOptions {
  /** Only what has changed since then, in milliseconds of the epoch. @defaultValue everything */
  readonly since?: number;
  /** Directories looked at, those near the root first. @defaultValue 20,000 */
  readonly most?: number;
  /** Milliseconds it may take. @defaultValue 1,000 */
  readonly withinMs?: number;
  readonly signal?: AbortSignal;
}

const MAX_DIRECTORIES = 20_000;
const MAX_MS = 1000;

/** Looks are synchronous, which is ten times faster; others get their turn this often. */
const SLICE_MS = 5;

/** How far the clock of the file system may lag the one that `since` was read from. */
const CLOCK_LAG_MS = 20;

/** Looks below `root` for repositories that run programs. Those that commands make deeper down can only be reported. */
export async function findRepositories(root: string, options: RepositorySearchOptions = {}): Promise<RepositorySearch> {
  const { since = 0, most = MAX_DIRECTORIES, withinMs = MAX_MS, signal } = options;
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
    signal?.throwIfAborted();
    const entries = entriesOf(path);
    if (isRepository(entries)) {
      report(path, changedAfter);
      // Nobody works inside of a `.git`; what merely looks like a repository must not hide what lies below.
      if (basename(path) === ".git") continue;
    }
    for (const entry of entries) {
      if (entry.isDirectory()) waiting.push(join(path, entry.name));
      else if (entry.name === ".git") {
        const pointer = join(path, ".git");
        // A pointer that is new may lead to what was put there long ago.
        report(targetOf(pointer), isChanged(pointer, changedAfter) ? 0 : changedAfter);
      }
    }
    complete &&= waiting.length <= most;
    waiting.length = Math.min(waiting.length, most);
  }
  return { suspects, complete };
}

// --- internal ---

function entriesOf(path: string): Dirent[] {
  return tried(() => readdirSync(path, { withFileTypes: true })) ?? [];
}

/** As git judges it: with a `commondir` the rest may lie elsewhere. */
function isRepository(entries: readonly Dirent[]): boolean {
  const has = (name: string) => entries.some((entry) => entry.name === name);
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

/** Where a `.git` that is a file or a link leads. */
function targetOf(pointer: string): string {
  const named = /^gitdir: (.+)/.exec(readSmall(pointer) ?? "")?.[1];
  return named === undefined ? pointer : resolve(pointer, "..", named);
}

/** The workspace's own settings and hooks are its owner's; a `commondir` there would replace both, and a rebase run what it says. */
function reasonsIn(path: string, own: boolean, since: number): string[] {
  const common = join(path, "commondir");
  // A dot leads nowhere else: the sandbox puts it there while commands run.
  const redirected = isChanged(common, since) && readSmall(common) !== ".\n" ? ["commondir"] : [];
  const todo = join(path, "rebase-merge/git-rebase-todo");
  // A rebase that goes on runs what its list says; git itself must be able to write one.
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

/** By the change time: unlike the modification time it cannot be set by the one who writes the file. */
function isChanged(path: string, since: number): boolean {
  const entry = entryAt(path);
  return entry !== undefined && entry.ctimeMs >= since;
}
