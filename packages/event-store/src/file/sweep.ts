/** Removes the directories that killed processes left beside the sessions. Loaded at the first sweep, because a start does not need it. */
import { lstatSync, readdirSync, renameSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isHeld } from "../claim/claim.js";
import type { Heartbeat } from "../claim/heartbeat.js";
import { LIMITS } from "../limits.js";
import { refuseForeign, removeSessionDirectory } from "./index/session-directory.js";

const HIDDEN = /^\.(new|deleted|replaced)-(.+)-[0-9a-f]{8}$/;

/**
 * Removes deleted sessions, and drafts whose maker is dead. Gives a replaced session its name back if no new session has it. Returns how
 * many directories it handled.
 */
export async function sweepHidden(
  eventlog: string,
  now: number,
  heartbeat: Heartbeat,
  dryRun: boolean,
): Promise<number> {
  let swept = 0;
  for (const name of await readdir(eventlog).catch(() => [])) {
    const [, why, id] = HIDDEN.exec(name) ?? [];
    if (id === undefined) continue;
    const [path, directory] = [join(eventlog, name), join(eventlog, id)];
    try {
      const entry = lstatSync(path);
      if (!entry.isDirectory()) continue;
      // The maker of a young draft may still be at work. Two processes may finish the same deletion.
      if (why !== "deleted" && now - entry.ctimeMs < LIMITS.leftoverMs) continue;
      if (why === "new" && !isAbandoned(path, heartbeat)) continue;
      const comesBack = why === "replaced" && lstatSync(directory, { throwIfNoEntry: false }) === undefined;
      if (!comesBack) refuseForeign(path);
      if (!dryRun && comesBack) renameSync(path, directory);
      // In one step, so that a maker that is alive after all publishes its whole draft or nothing.
      else if (!dryRun) await removeSessionDirectory(path, directory);
      swept++;
    } catch {
      // Another process was faster, or it cannot be removed: the next sweep tries again.
    }
  }
  return swept;
}

// --- internal ---

/** True for a draft with the claim of a dead process, and for an empty draft: it has no claim and nothing to lose. */
function isAbandoned(draft: string, heartbeat: Heartbeat): boolean {
  const names = readdirSync(draft);
  return names.length === 0 || (names.includes("claim.1") && !isHeld(join(draft, "claim"), heartbeat));
}
