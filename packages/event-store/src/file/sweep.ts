/** What killed processes left beside the sessions. Loaded when it is needed, which is long after a start. */
import { lstatSync, readdirSync, renameSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isHeld } from "../claim/claim.js";
import type { Heartbeat } from "../claim/heartbeat.js";
import { LIMITS } from "../limits.js";
import { refuseForeign, removeSessionDirectory } from "./index/session-directory.js";

const HIDDEN = /^\.(new|deleted|replaced)-(.+)-[0-9a-f]{8}$/;

/**
 * Removes deleted sessions, and drafts whose maker is dead; gives a replaced session its name back when no new one has it. Returns how
 * many there were.
 */
export async function sweepHidden(eventlog: string, now: number, heartbeat: Heartbeat): Promise<number> {
  let swept = 0;
  for (const name of await readdir(eventlog).catch(() => [])) {
    const [, why, id] = HIDDEN.exec(name) ?? [];
    if (id === undefined) continue;
    const [path, directory] = [join(eventlog, name), join(eventlog, id)];
    try {
      const entry = lstatSync(path);
      if (!entry.isDirectory()) continue;
      // The maker of a young one may be at work. A deletion may be carried out by two.
      if (why !== "deleted" && now - entry.ctimeMs < LIMITS.leftoverMs) continue;
      if (why === "new" && !isAbandoned(path, heartbeat)) continue;
      if (why === "replaced" && lstatSync(directory, { throwIfNoEntry: false }) === undefined) {
        renameSync(path, directory);
      } else {
        refuseForeign(path);
        // In one step, so that a maker that lives after all publishes its whole draft or nothing.
        await removeSessionDirectory(path, directory);
      }
      swept++;
    } catch {
      // Another process was faster, or it cannot be removed: the next sweep tries again.
    }
  }
  return swept;
}

// --- internal ---

/** True for a draft that a dead process signed, and for an empty one: there is nothing to lose in it, and no claim says whose it is. */
function isAbandoned(draft: string, heartbeat: Heartbeat): boolean {
  const names = readdirSync(draft);
  return names.length === 0 || (names.includes("claim.1") && !isHeld(join(draft, "claim"), heartbeat));
}
