/** A draft lies beside the file it replaces and names its process, so that only what nobody writes is removed. */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, readdir, unlink } from "node:fs/promises";

/** Version 0.1 did not say where its process number counts. */
const DRAFT = /^\.chimera-(\d+)-(?:([0-9a-f]{8})\.)?[0-9a-f-]{36}\.tmp$/;
/** Where it cannot be known whether the process runs, its draft is left this long after the last change. */
const STALE_MS = 10 * 60_000;

/** The name of the directory a restore prepares its files in; no index of a workspace ever lists it. */
export const STAGE_PREFIX = ".chimera-restore-";

export function isStageName(name: unknown): boolean {
  return typeof name === "string" && /^\.chimera-restore-[0-9a-f]{12}$/.test(name);
}

/** A name that no other writer uses. */
export function draftName(): string {
  return `.chimera-${process.pid}-${here()}.${randomUUID()}.tmp`;
}

export function isDraft(name: string): boolean {
  return name.startsWith(".chimera-") && DRAFT.test(name);
}

/** Removes the drafts of processes that are gone. `at` gives the address of a name in the directory, which itself is `.`. */
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

/** A start of the machine and a space of process numbers in it: a number means the same process only there. */
function here(): string {
  if (known !== undefined) return known;
  try {
    const place = readFileSync("/proc/sys/kernel/random/boot_id", "utf8") + readlinkSync("/proc/self/ns/pid");
    known = createHash("sha256").update(place).digest("hex").slice(0, 8);
  } catch {
    known = NOWHERE;
  }
  return known;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
