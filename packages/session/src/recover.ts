/**
 * What a process left unfinished when it died, repaired in one order whenever a session is loaded (`bring` of the lifecycle):
 *
 * 1. The store claims the log, cuts a torn tail and starts a segment of its own.
 * 2. The log is read and folded.
 * 3. `endTearDown`: where the log says that the session was torn down, its summary says so and its snapshots go. It is not loaded.
 * 4. `settleFiles`: a restore of files stands when the log has its record, and is taken back when it has none.
 * 5. Also `settleFiles`: what the open turn did to files becomes its snapshot, so that it can be undone.
 * 6. `endInterrupted` of the journal: questions are denied, calls fail, the open turn ends, prompts that never ran are cancelled.
 * 7. `endLeftovers` of the session: questions that no open turn waits for are denied, and jobs end.
 * 8. `narrower`: settings that go beyond what the program starts with are narrowed, on record.
 * 9. What that recorded becomes durable with the first acknowledgement, and the summary follows.
 *
 * When the program starts, and before a session goes for good, `recoverRestores` does 1, 4 and 5 where a restore was interrupted, since
 * somebody uses the files whether or not anybody loads the session. A session is loaded before it is torn down, so that its log ends as one
 * that was closed. The journal also ends turns of a live session whose log could not be written.
 */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { type EventStore, isStoreError, type LogWriter } from "@chimera/event-store";
import type {
  RecoveryReport,
  RestoreLog,
  SessionSnapshots,
  SnapshotStore,
  UnfinishedRestore,
} from "@chimera/snapshot-store";

/** The snapshots of all sessions, whose code a program may load when they are first asked. */
export interface StoredSnapshots extends Pick<SnapshotStore, "session" | "reading" | "release" | "clear"> {
  unfinished(sessionId?: string): readonly UnfinishedRestore[] | Promise<readonly UnfinishedRestore[]>;
}

/** What undo and redo of files ask of the log of a session that this process holds. */
export function restoreLog(store: EventStore<SessionEvent, Summary>, writer: LogWriter<SessionEvent>): RestoreLog {
  return {
    requireHeld: () => writer.requireHeld(),
    async recorded(direction, after) {
      for await (const entry of store.read(writer.id, { from: after })) if (entry.type === direction) return true;
      return false;
    },
  };
}

/** A session can be used without its snapshots, so what cannot be repaired is reported and not thrown. */
export async function settleFiles(
  snapshots: SessionSnapshots | null,
  onRecovered?: (report: RecoveryReport) => void,
): Promise<void> {
  const report = await snapshots?.settle();
  if (report) onRecovered?.(report);
}

/** No restore takes so long. */
const ABANDONED_MS = 10 * 60 * 1000;

/**
 * Repairs undos that a crash interrupted, also in sessions that nobody loads: once, before any is loaded, and before sessions go for good,
 * since afterwards nothing says whether their undo stands. `isOnlyStore` says that every session with snapshots here has its log in this
 * store: elsewhere a session without a log is left to the program that has it. `session` names the only one to look at.
 *
 * @example
 * await recoverRestores(store, snapshots, ({ sessionId, result }) => console.error(sessionId, result));
 */
export async function recoverRestores(
  store: EventStore<SessionEvent, Summary>,
  snapshots: Pick<StoredSnapshots, "session" | "release" | "unfinished">,
  onRecovered: (report: RecoveryReport) => void = () => {},
  { isOnlyStore = true, session }: { readonly isOnlyStore?: boolean; readonly session?: string } = {},
): Promise<void> {
  for (const { sessionId, workspace, touchedMs } of await snapshots.unfinished(session)) {
    const settle = async (log?: RestoreLog) => {
      await settleFiles(snapshots.session(sessionId, workspace, log), onRecovered);
      snapshots.release(sessionId);
    };
    try {
      const writer = await store.open(sessionId);
      await settle(restoreLog(store, writer)).finally(() => writer.close());
    } catch (error) {
      const code = isStoreError(error) ? error.code : null;
      // Another process has the session open, and may be undoing right now.
      if (code === "claimed") continue;
      // A session without a log lived in the memory of a process, which may still be undoing.
      if (code !== "not_found") onRecovered({ sessionId, result: "failed", message: String(error) });
      else if (isOnlyStore && Date.now() - touchedMs > ABANDONED_MS) await settle();
    }
  }
}
