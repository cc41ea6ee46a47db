import type { Stats } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A git directory that makes git run something, found where a command could have put it. */
export interface SuspectRepository {
  readonly path: string;
  /** Settings, hooks or files that run programs or redirect git. */
  readonly reasons: readonly string[];
}

export interface RepositorySearch {
  readonly suspects: readonly SuspectRepository[];
  /** False when the bound was reached before everything was seen. */
  readonly complete: boolean;
}

export interface RepositorySearchOptions {
  /** Only what has changed since then, in milliseconds of the epoch. @defaultValue everything */
  readonly since?: number;
  /** Directories looked at, those near the root first. @defaultValue 20,000 */
  readonly most?: number;
  readonly signal?: AbortSignal;
}

const MAX_DIRECTORIES = 20_000;

/** Settings longer than this are somebody's trap. */
const MAX_SETTINGS = 64 * 1024;

/** How far the clock of the file system may lie behind the one that `since` was read from. */
const CLOCK_LAG_MS = 20;

/** Settings whose value git executes, or that lead it to other settings. */
const RUNS_PROGRAMS =
  /^[ \t]*(?:\[[^\]\n]*\][ \t]*)?(fsmonitor|hooksPath|sshCommand|pager|editor|askPass|external|command|textconv|clean|smudge|process|helper|program|gitProxy|uploadpack|receivepack|path)[ \t]*=.+$/gim;

/**
 * Looks below `root` for repositories whose settings or hooks run programs, bare ones included. The sandbox protects the
 * workspace's own repository; one that a command makes deeper down can only be reported.
 */
export async function findRepositories(root: string, options: RepositorySearchOptions = {}): Promise<RepositorySearch> {
  const { since = 0, most = MAX_DIRECTORIES, signal } = options;
  const suspects: SuspectRepository[] = [];
  const own = join(root, ".git");
  const waiting = [root];
  let complete = true;
  for (const path of waiting) {
    signal?.throwIfAborted();
    const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
    const names = new Set(entries.map((entry) => entry.name));
    if (names.has("HEAD") && names.has("objects") && names.has("refs")) {
      const reasons = await reasonsIn(path, names, path === own, since - CLOCK_LAG_MS);
      if (reasons.length > 0) suspects.push({ path, reasons });
      continue;
    }
    for (const entry of entries) if (entry.isDirectory()) waiting.push(join(path, entry.name));
    complete &&= waiting.length <= most;
    waiting.length = Math.min(waiting.length, most);
  }
  return { suspects, complete };
}

// --- internal ---

/** The workspace's own settings and hooks are its owner's; a `commondir` there would replace both. */
async function reasonsIn(path: string, names: ReadonlySet<string>, own: boolean, since: number): Promise<string[]> {
  const redirected = (await changedFile(join(path, "commondir"), since)) ? ["commondir"] : [];
  if (own) return redirected;
  const hooks: string[] = [];
  for (const name of await readdir(join(path, "hooks")).catch(() => [])) {
    if (!name.endsWith(".sample") && (await changedFile(join(path, "hooks", name), since))) hooks.push(`hooks/${name}`);
  }
  return [...redirected, ...(names.has("config") ? await settingsIn(join(path, "config"), since) : []), ...hooks];
}

async function settingsIn(path: string, since: number): Promise<string[]> {
  const changed = await changedFile(path, since);
  if (!changed) return [];
  if (!changed.isFile() || changed.size > MAX_SETTINGS) return ["settings that cannot be read"];
  const text = await readFile(path, "utf8").catch(() => "");
  return [...text.matchAll(RUNS_PROGRAMS)].map(([line]) => line.trim());
}

/** By the change time: unlike the modification time it cannot be set by the one who writes the file. */
async function changedFile(path: string, since: number): Promise<Stats | null> {
  const entry = await lstat(path).catch(() => null);
  return entry && entry.ctimeMs >= since ? entry : null;
}
