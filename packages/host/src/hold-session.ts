/** Keeps other processes out of a session while an undo that a crash interrupted is settled. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, isStoreError } from "@chimera/event-store";
import type { HoldSession } from "@chimera/snapshot-store";

/** No undo takes so long. */
const ABANDONED_MS = 10 * 60 * 1000;

/**
 * A session that another process has open is left to it. One without a log is in the memory of a process, which may be at its undo
 * right now: only what stood still since is taken for a dead one's.
 */
export function holdSession(store: EventStore<SessionEvent, Summary>, snapshots: string): HoldSession {
  return async (sessionId, work) => {
    try {
      const writer = await store.open(sessionId);
      await work().finally(() => writer.close());
    } catch (error) {
      const code = isStoreError(error) ? error.code : null;
      if (code === "claimed") return;
      if (code !== "not_found") throw error;
      if (Date.now() - statSync(join(snapshots, sessionId)).mtimeMs > ABANDONED_MS) await work();
    }
  };
}
