/** Which turns are under way: from the log, and from prompts that the log has yet to show. */
import { endsTurn, type SessionRecord } from "@chimera/acp-schema/events";

export interface Turns {
  /** A prompt has not been answered to its end. */
  readonly running: boolean;
  /** Or one is on its way. */
  readonly busy: boolean;
  apply(record: SessionRecord): void;
  /** Sends a prompt; resolves when it has its place. */
  send(prompt: () => Promise<number>): Promise<void>;
}

export function createTurns(): Turns {
  const open = new Set<number>();
  let lastEnded = -1;
  let sending = 0;
  return {
    get running() {
      return open.size > 0;
    },
    get busy() {
      return open.size > 0 || sending > 0;
    },
    apply({ type, turn }) {
      if (turn === null) return;
      if (type === "user_message") open.add(turn);
      if (!endsTurn(type)) return;
      open.delete(turn);
      lastEnded = turn;
    },
    async send(prompt) {
      sending++;
      try {
        const turn = await prompt();
        // The reply may overtake the record, or come after the turn's last one.
        if (turn > lastEnded) open.add(turn);
      } finally {
        sending--;
      }
    },
  };
}
