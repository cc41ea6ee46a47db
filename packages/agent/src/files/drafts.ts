/** The files that writes are made in before they take their target's place; a process that is killed leaves its own behind. */
import { lstat, readdir, unlink } from "node:fs/promises";

/** A name in the target's directory that tells whose it is. */
export function draftName(): string {
  return `.chimera-${process.pid}-${crypto.randomUUID()}.tmp`;
}

/**
 * Removes what killed processes left in a directory, once, with the first write there. A process of that number may be another
 * by now, or live where we cannot see it: only what nobody has touched for a minute goes.
 */
export async function sweepDrafts(directory: string, at: (name: string) => string): Promise<void> {
  if (swept.has(directory)) return;
  if (swept.size >= REMEMBERED) swept.clear();
  swept.add(directory);
  for (const name of await readdir(at(".")).catch(() => [])) {
    const pid = DRAFT.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await removeStale(at(name)).catch(() => {});
  }
}

// --- internal ---

const DRAFT = /^\.chimera-(\d+)-[0-9a-f-]{36}\.tmp$/;
const STALE_MS = 60_000;
const REMEMBERED = 1000;
const swept = new Set<string>();

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

async function removeStale(path: string): Promise<void> {
  const { mtimeMs } = await lstat(path);
  if (Date.now() - mtimeMs > STALE_MS) await unlink(path);
}
