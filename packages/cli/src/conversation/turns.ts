/** The turns of a session as a conversation sees them: those under way, and those before somebody joined. */
import { foldConversation, type TurnView } from "@chimera/acp-schema/conversation";
import { endsTurn, type SessionRecord } from "@chimera/acp-schema/events";

/** Which turns are under way: from the log, and from prompts that the log has yet to show. */
export function createTurns() {
  const conversation = foldConversation({ keep: "state" });
  const open = new Set<number>();
  let lastEnded = -1;
  let sending = 0;
  return {
    /** A prompt has not been answered to its end. */
    get running() {
      return open.size > 0;
    },
    /** Or one is on its way. */
    get busy() {
      return open.size > 0 || sending > 0;
    },
    conversation,
    /** Turns that can be taken back, the last one first. */
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
    /** Sends a prompt; resolves when it has its place. */
    async send(prompt: () => Promise<number>) {
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

/** Turns shown to somebody who joins. */
const SHOWN = 3;
/** Turns kept until it is known which of them count; undone ones are among them. */
const KEPT = 20;

export type Past = ReturnType<typeof createPast>;

/** What happened before somebody joined: the last turns that still count, and what is unresolved. */
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
      // A slash command asked no model, and is shown only among turns that did.
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
