/**
 * Repairs what a process left unfinished when it died. Loading a session does it in this order (`load` in `lifecycle.ts`):
 *
 * 1. The store claims the log, cuts a torn tail and starts a segment of its own.
 * 2. The log is read and folded.
 * 3. `endTearDown`: if the log says that the session was torn down, its summary is marked and its snapshots go. It is not loaded.
 * 4. `settleFiles`: a restore of files stands if the log has its record. Otherwise it is taken back.
 * 5. Also `settleFiles`: the changes of the unfinished turn to files become its snapshot, so that they can be undone.
 * 6. `endInterrupted` of the journal: questions are denied, calls fail, the unfinished turn ends, prompts that never ran are cancelled.
 * 7. `endLeftovers` of the session: questions outside an unfinished turn are denied, and jobs end.
 * 8. `narrower`: settings that are wider than the program's start settings are narrowed, with a record.
 * 9. The new records become durable with the first acknowledgement, and the summary follows.
 *
 * When the program starts, and before a session is deleted or torn down, `recoverRestores` does 1, 4 and 5 for sessions with an interrupted
 * restore, because people use the files also if nobody loads the session. A session is loaded before it is torn down, so that its log ends
 * like that of a closed session. The journal also ends turns of a live session after its log could not be written.
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

/** The snapshots of all sessions. `unfinished` may be asynchronous, so that a program can load their code when it is first needed. */
export interface StoredSnapshots extends Pick<SnapshotStore, "session" | "reading" | "release" | "clear"> {
  unfinished(sessionId?: string): readonly UnfinishedRestore[] | Promise<readonly UnfinishedRestore[]>;
}

/** The log of a session that this process holds, as undo and redo of files need it. */
export function restoreLog(store: EventStore<SessionEvent, Summary>, writer: LogWriter<SessionEvent>): RestoreLog {
  return {
    requireHeld: writer.requireHeld,
    async recorded(direction, after) {
      for await (const entry of store.read(writer.id, { from: after })) if (entry.type === direction) return true;
      return false;
    },
  };
}

/** Repairs the snapshots of a session. A failure is reported and not thrown, because the session can be used without its snapshots. */
export async function settleFiles(
  snapshots: SessionSnapshots | null,
  onRecovered?: (report: RecoveryReport) => void,
): Promise<void> {
  const report = await snapshots?.settle();
  if (report) onRecovered?.(report);
}

/** An unfinished restore that is older has been abandoned: no restore takes so long. */
const ABANDONED_MS = 10 * 60 * 1000;

/**
 * Repairs undos that a crash interrupted, also in sessions that nobody loads. A program calls this once, before it loads a session, and
 * before it deletes one, because the log says whether an undo stands. `isOnlyStore`: every session with snapshots here has its log in this
 * store; with false, a session without a log is left to the program that has it. `session`: look only at this one,
 * whose log may be in another store.
 *
 * @example
 * await recoverRestores(store, snapshots, ({ sessionId, result }) => console.error(sessionId, result));
 */
export async function recoverRestores(
  store: EventStore<SessionEvent, Summary>,
  snapshots: Pick<StoredSnapshots, "session" | "release" | "unfinished">,
  onRecovered: (report: RecoveryReport) => void = () => {},
  { session, isOnlyStore = session === undefined }: { readonly isOnlyStore?: boolean; readonly session?: string } = {},
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
      // Another process has the session, and its undo may be in progress.
      if (code === "claimed") continue;
      // The log of this session was in the memory of a process. Its undo may be in progress, so wait until it is surely abandoned.
      if (code !== "not_found") onRecovered({ sessionId, result: "failed", message: String(error) });
      else if (isOnlyStore && Date.now() - touchedMs > ABANDONED_MS) await settle();
    }
  }
}
