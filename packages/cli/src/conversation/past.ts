/** What happened before somebody joined: the last turns that still count, and what is open. */
import { foldConversation } from "@chimera/acp-schema/conversation";
import type { SessionRecord } from "@chimera/acp-schema/events";

/** Turns shown to somebody who joins. */
const SHOWN = 3;
/** Turns kept until it is known which of them count; undone ones are among them. */
const KEPT = 20;

export interface Past {
  add(record: SessionRecord): void;
  /** The records to show, and how many turns there were before them. */
  end(): { readonly records: readonly SessionRecord[]; readonly earlier: number };
}

export function createPast(): Past {
  const conversation = foldConversation({ keep: "state" });
  let kept: SessionRecord[] = [];
  return {
    add(record) {
      conversation.apply(record);
      kept.push(record);
      if (record.type !== "user_message") return;
      const oldest = conversation.turns.length - KEPT;
      if (oldest > 0) kept = kept.filter(({ turn }) => turn !== null && turn >= oldest);
    },
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
