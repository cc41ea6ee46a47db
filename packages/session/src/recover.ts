/**
 * What a process left unfinished when it died, repaired in one order whenever a session is loaded:
 *
 * 1. The store claims the log, cuts a torn tail and starts a segment of its own.
 * 2. The log is read and folded.
 * 3. `settleFiles`: a restore of files stands when the log has its record, and is taken back when it has none.
 * 4. Also `settleFiles`: what the open turn did to files becomes its snapshot, so that it can be undone.
 * 5. `endTurns`: questions are denied, calls fail, the open turn ends, prompts that never ran are cancelled.
 *
 * When the program starts, `recoverRestores` does 1, 3 and 4 for every session with an interrupted restore, since somebody uses
 * its files whether or not anybody loads it. `endTurns` also serves a live session whose log could not be written.
 */
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import { type EventStore, isStoreError } from "@chimera/event-store";
import type { Direction, RecoveryReport, SessionSnapshots, SnapshotStore } from "@chimera/snapshot-store";
import type { History, TurnState } from "./history.js";
import type { Recorder } from "./recorder.js";
import { resultsForOpenCalls } from "./run-turn.js";
import type { Summary } from "./summary.js";

/** Whether the log of a session holds a record of a type after a number. */
export function isRecorded(store: EventStore<SessionEvent, Summary>, id: string) {
  return async (type: Direction, after: number): Promise<boolean> => {
    for await (const entry of store.read(id, { from: after })) if (entry.type === type) return true;
    return false;
  };
}

/** A session can be used without its snapshots, so what cannot be repaired is reported and not thrown. */
export async function settleFiles(
  snapshots: SessionSnapshots | null,
  recorded: (direction: Direction, after: number) => Promise<boolean>,
  onRecovered?: (report: RecoveryReport) => void,
): Promise<void> {
  const report = await snapshots?.settle(recorded);
  if (report) onRecovered?.(report);
}

/** No restore takes so long. */
const ABANDONED_MS = 10 * 60 * 1000;

/** Repairs undos that a crash interrupted, also in sessions that nobody loads. To be called once, before any is loaded. */
export async function recoverRestores(
  store: EventStore<SessionEvent, Summary>,
  snapshots: SnapshotStore,
  onRecovered: (report: RecoveryReport) => void,
): Promise<void> {
  for (const { sessionId, workspace, touchedMs } of snapshots.unfinished()) {
    const settle = async (recorded: (direction: Direction, after: number) => Promise<boolean>) => {
      await settleFiles(snapshots.session(sessionId, workspace), recorded, onRecovered);
      snapshots.release(sessionId);
    };
    try {
      const writer = await store.open(sessionId);
      await settle(isRecorded(store, sessionId)).finally(() => writer.close());
    } catch (error) {
      const code = isStoreError(error) ? error.code : null;
      // Another process has the session open, and may be at its undo right now.
      if (code === "claimed") continue;
      // Without a log it was in the memory of a process, which may still be at its undo.
      if (code !== "not_found") onRecovered({ sessionId, result: "failed", message: String(error) });
      else if (Date.now() - touchedMs > ABANDONED_MS) await settle(async () => false);
    }
  }
}

/** Turns in `busy` are left alone: they wait or run. Each of the others ends in one write. */
export function endTurns(history: History, recorder: Recorder, reason: string, busy: ReadonlySet<number>): void {
  for (const turn of history.turns) {
    // A prompt the log never took leaves a hole.
    if (!turn || turn.ended || busy.has(turn.number)) continue;
    recorder.writeAll(turn.started ? interrupted(history, turn, reason) : [neverRan], { turn: turn.number });
  }
}

// --- internal ---

const neverRan: AgentEvent = { type: "cancelled", metadata: { output: "" } };

function interrupted(history: History, turn: TurnState, message: string): AgentEvent[] {
  const denials = [...history.openPermissions].map(
    (permission_id): AgentEvent => ({
      type: "permission_resolved",
      metadata: { permission_id, decision: "deny", by: "eviction" },
    }),
  );
  const { steps } = turn;
  return [
    ...denials,
    ...resultsForOpenCalls(history, message),
    { type: "error", metadata: { name: "Interrupted", message, retryable: true } },
    { type: "turn_end", metadata: { stop_reason: "error" } },
    {
      type: "agent_result",
      metadata: { output: "", steps, tool_calls_total: 0, cost: 0, success: false, error: message },
    },
  ];
}
