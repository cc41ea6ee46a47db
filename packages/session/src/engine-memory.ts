/** The state that an engine keeps in a session, and the events that it sends between turns, also while the session's log is let go. */
import type { EngineMemory } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { isStoreError } from "@chimera/event-store";
import { SessionError } from "./errors.js";
import { limits } from "./limits.js";
import type { Parts } from "./session-parts.js";

export function createEngineMemory({ journal, queue, end, writer, wake, onError }: Parts): EngineMemory {
  /** Events since the log was let go. They are recorded when it is taken up again. */
  let unwritten: AgentEvent[] = [];
  const takeUp = async (): Promise<void> => {
    // A session that closes holds its lane until its engine has ended, and `wake` would wait for the lane.
    if (!end.closing) await wake();
    if (writer.isLetGo) throw new SessionError("session_closed", `session ${writer.id} has ended here`);
  };
  const write = (event: AgentEvent): void => {
    try {
      journal.recorder.add(event, { turn: queue.current?.turn ?? null });
    } catch (error) {
      // Engines send events from timers and sockets, where nobody catches an error. A log that cannot be written is reported already.
      if (!isStoreError(error) || MALFORMED.has(error.code)) onError(error, writer.id);
      return;
    }
    // Text is written at the end of the tick. No turn waits for it, so this hears of a failed write.
    process.nextTick(() => void journal.written());
  };
  const writeLater = async (): Promise<void> => {
    try {
      await takeUp();
      unwritten.forEach(write);
    } catch {
      // Another process has the session, without this engine; or the log cannot be written, which is reported already.
    }
    unwritten = [];
  };
  return {
    recall: () => journal.conversation.facts.memory,
    async remember(state) {
      const bytes = Buffer.byteLength(JSON.stringify(state) ?? "");
      if (bytes > limits.memoryBytes)
        throw new SessionError("invalid_setting", `an engine may remember ${limits.memoryBytes} bytes, not ${bytes}`);
      if (writer.isLetGo) await takeUp();
      await journal.accept({ type: "agent_session", metadata: { state } }, { turn: queue.current?.turn ?? null });
    },
    emit(event) {
      // A session that closes records the end of running jobs itself.
      if (end.closing) return;
      if (!writer.isLetGo) return write(event);
      if (unwritten.length < limits.unwrittenEvents && unwritten.push(event) === 1) void writeLater();
    },
  };
}

// --- internal ---

/** The codes of errors that are about the event, and not about the log. */
const MALFORMED: ReadonlySet<string> = new Set(["invalid_event", "too_large"]);
