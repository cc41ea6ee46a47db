/** Events on their way from an engine to the turn that takes them. */
import type { AgentEvent } from "@chimera/acp-schema/events";
import { limits } from "./limits.js";

export interface EventStream {
  push(events: readonly AgentEvent[]): void;
  /** Resolves when everything pushed so far was taken. */
  taken(): Promise<void>;
  /** Nothing more comes; with an error, the turn fails with it. */
  end(error?: unknown): void;
  read(): AsyncIterable<AgentEvent>;
}

/** @param onFull called with true when more waits than may, and with false when it was taken. */
export function createEventStream(onFull: (isFull: boolean) => void): EventStream {
  let waiting: AgentEvent[] = [];
  let isFull = false;
  let outcome: { readonly error?: unknown } | null = null;
  let wake = () => {};
  let whenTaken: (() => void)[] = [];
  return {
    push(events) {
      if (outcome || events.length === 0) return;
      waiting.push(...events);
      if (!isFull && waiting.length > limits.waitingEvents) {
        isFull = true;
        onFull(true);
      }
      wake();
    },
    taken: () =>
      new Promise((resolve) => {
        whenTaken.push(resolve);
        wake();
      }),
    end(error) {
      outcome ??= error === undefined ? {} : { error };
      wake();
    },
    async *read() {
      for (;;) {
        const batch = waiting;
        waiting = [];
        for (const event of batch) yield event;
        if (waiting.length > 0) continue;
        if (isFull) {
          isFull = false;
          onFull(false);
        }
        const taken = whenTaken;
        whenTaken = [];
        for (const resolve of taken) resolve();
        if (outcome) {
          if ("error" in outcome) throw outcome.error;
          return;
        }
        if (waiting.length > 0 || whenTaken.length > 0) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
