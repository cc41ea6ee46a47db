/** The hold on a session's log, which can be let go while nothing happens and taken up again where it was. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { LogWriter } from "@chimera/event-store";

export interface LogHold extends LogWriter<SessionEvent> {
  /** Another process may have the log: nothing can be written. */
  readonly isLetGo: boolean;
  /** Writes what is queued, then lets other processes have the log. */
  letGo(): Promise<void>;
  /** Continues with another writer of the same log, at the same number. */
  takeUp(writer: LogWriter<SessionEvent>): void;
}

export function createLogHold(first: LogWriter<SessionEvent>): LogHold {
  let writer = first;
  let isLetGo = false;
  const lost = new AbortController();
  const watch = () => {
    const { lost: signal } = writer;
    signal.addEventListener("abort", () => signal === writer.lost && !isLetGo && lost.abort(), { once: true });
  };
  watch();
  return {
    id: first.id,
    lost: lost.signal,
    get lastSeq() {
      return writer.lastSeq;
    },
    get isLetGo() {
      return isLetGo;
    },
    requireHeld: () => writer.requireHeld(),
    append: (events) => writer.append(events),
    written: (seq) => writer.written(seq),
    durable: (seq) => writer.durable(seq),
    close: () => writer.close(),
    async letGo() {
      isLetGo = true;
      await writer.close();
    },
    takeUp(next) {
      writer = next;
      isLetGo = false;
      watch();
    },
  };
}
