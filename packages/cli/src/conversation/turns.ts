/** The turns of a session for a conversation: those that run now, and those before the person joined. */
import { foldConversation, type TurnView } from "@chimera/acp-schema/conversation";
import { endsTurn, type SessionRecord } from "@chimera/acp-schema/events";

/** Which turns are running, according to the log and to prompts whose records have not arrived yet. */
export function createTurns() {
  const conversation = foldConversation({ keep: "state" });
  const open = new Set<number>();
  let lastEnded = -1;
  let sending = 0;
  return {
    /** Whether a turn is running. */
    get running() {
      return open.size > 0;
    },
    /** Whether a turn is running or a prompt is being sent. */
    get busy() {
      return open.size > 0 || sending > 0;
    },
    conversation,
    /** Turns that can be undone, the last one first. */
    undoable: (): TurnView[] => conversation.undoable().reverse(),
    apply(record: SessionRecord) {
      conversation.apply(record);
      const { type, turn } = record;
      if (turn === null) return;
      if (type === "user_message") open.add(turn);
      if (!endsTurn(type)) return;
      open.delete(turn);
      lastEnded = turn;
    },
    /** Sends a prompt. Resolves when it is in the queue. */
    async send(prompt: () => Promise<number>) {
      sending++;
      try {
        const turn = await prompt();
        // The reply may arrive before the prompt's record, or even after the turn's last record.
        if (turn > lastEnded) open.add(turn);
      } finally {
        sending--;
      }
    },
  };
}

/** Turns to show to a person who joins. */
const SHOWN = 3;
/** Turns to keep until it is known which of them are undone. */
const KEPT = 20;

export type Past = ReturnType<typeof createPast>;

/** Collects the records from before the person joined, to show the last turns that are not undone. */
export function createPast(conversation: ReturnType<typeof foldConversation>) {
  let kept: SessionRecord[] = [];
  return {
    add(record: SessionRecord) {
      kept.push(record);
      if (record.type !== "user_message") return;
      const oldest = conversation.turns.length - KEPT;
      if (oldest > 0) kept = kept.filter(({ turn }) => turn !== null && turn >= oldest);
    },
    /** The records to show, and how many turns there were before them. */
    end() {
      const hidden = conversation.hidden();
      const visible = conversation.turns.filter(({ number }) => !hidden.has(number));
      // Turns of slash commands use no model. They do not count, and are shown only between other turns.
      const answered = visible.filter(({ steps, ended }) => steps > 0 || !ended);
      const first = answered.at(-SHOWN)?.number ?? 0;
      const shown = new Set(visible.filter(({ number }) => number >= first).map(({ number }) => number));
      return {
        records: kept.filter(({ turn }) => turn !== null && shown.has(turn)),
        earlier: answered.filter(({ number }) => number < first).length,
      };
    },
  };
}
