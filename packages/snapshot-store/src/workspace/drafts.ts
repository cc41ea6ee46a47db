/** A draft is beside the file it replaces and names its process, so that a sweep removes only drafts of ended processes. */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, readdir, unlink } from "node:fs/promises";
import { orElse } from "../errors.js";

/** Drafts of version 0.1 do not name the pid namespace of their pid. */
const DRAFT = /^\.chimera-(\d+)-(?:([0-9a-f]{8})\.)?[0-9a-f-]{36}\.tmp$/;
/** When it is unknown whether the process runs, its draft stays this long after its last change. */
const STALE_MS = 10 * 60_000;

/** The prefix of directories in which a restore prepares files; no index of a workspace lists them. */
export const STAGE_PREFIX = ".chimera-restore-";

export function isStageName(name: unknown): boolean {
  return typeof name === "string" && /^\.chimera-restore-[0-9a-f]{12}$/.test(name);
}

/**
 * A name that no other writer uses.
 *
 * @example
 * writeFileSync(join(directory, draftName()), content);
 */
export function draftName(): string {
  return `.chimera-${process.pid}-${here()}.${randomUUID()}.tmp`;
}

export function isDraft(name: string): boolean {
  return name.startsWith(".chimera-") && DRAFT.test(name);
}

/**
 * Removes the drafts of ended processes. `at` returns the address of a name in the directory, and of the directory itself for `.`.
 *
 * @example
 * await sweepDrafts((name) => join(directory, name));
 */
export async function sweepDrafts(at: (name: string) => string | Buffer): Promise<void> {
  for (const name of (await readdir(at(".")).catch(() => [])).filter(isDraft)) {
    const stats = await lstat(at(name)).catch(() => null);
    if (stats?.isFile() && isAbandoned(name, Date.now() - stats.mtimeMs)) await unlink(at(name)).catch(() => {});
  }
}

// --- internal ---

function isAbandoned(name: string, ageMs: number): boolean {
  const [, pid, place] = DRAFT.exec(name) ?? [];
  if (place === here() && place !== NOWHERE) return !isRunning(Number(pid));
  return ageMs > STALE_MS && (place !== undefined || !isRunning(Number(pid)));
}

const NOWHERE = "00000000";
let known: string | undefined;

/** Identifies this boot of the machine and pid namespace: a pid names one process only within both. */
function here(): string {
  known ??= orElse(() => {
    const place = readFileSync("/proc/sys/kernel/random/boot_id", "utf8") + readlinkSync("/proc/self/ns/pid");
    return createHash("sha256").update(place).digest("hex").slice(0, 8);
  }, NOWHERE);
  return known;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
