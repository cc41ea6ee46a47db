import { readdir, readFile } from "node:fs/promises";
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

const MAX_DIRECTORIES = 20_000;

/** Settings whose value git executes, or that lead it to other settings. */
const RUNS_PROGRAMS =
  /^\s*(fsmonitor|hooksPath|sshCommand|pager|editor|askPass|external|command|textconv|clean|smudge|process|helper|program|gitProxy|uploadpack|receivepack|path)\s*=\s*(.+)$/gim;

/**
 * Looks below `root` for repositories whose settings or hooks run programs, bare ones included. The sandbox protects the
 * workspace's own repository; one that a command makes deeper down can only be reported. Searches at most 20,000 directories.
 */
export async function findRepositories(root: string, signal?: AbortSignal): Promise<RepositorySearch> {
  const suspects: SuspectRepository[] = [];
  const own = join(root, ".git");
  const waiting = [root];
  let seen = 0;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    signal?.throwIfAborted();
    seen += 1;
    if (seen > MAX_DIRECTORIES) return { suspects, complete: false };
    const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
    const names = new Set(entries.map((entry) => entry.name));
    if (names.has("HEAD") && names.has("objects") && names.has("refs")) {
      const reasons = await reasonsIn(path, names, path === own);
      if (reasons.length > 0) suspects.push({ path, reasons });
      continue;
    }
    for (const entry of entries) if (entry.isDirectory()) waiting.push(join(path, entry.name));
  }
  return { suspects, complete: true };
}

// --- internal ---

/** The workspace's own settings and hooks are its owner's; a `commondir` there would replace both. */
async function reasonsIn(path: string, names: ReadonlySet<string>, own: boolean): Promise<string[]> {
  const redirected = names.has("commondir") ? ["commondir"] : [];
  if (own) return redirected;
  const config = await readFile(join(path, "config"), "utf8").catch(() => "");
  const settings = [...config.matchAll(RUNS_PROGRAMS)].map(([line]) => line.trim());
  const hooks = (await readdir(join(path, "hooks")).catch(() => [])).filter((name) => !name.endsWith(".sample"));
  return [...redirected, ...settings, ...hooks.map((name) => `hooks/${name}`)];
}
