/** A session that the page has read: the fold of its log, and what is shown of it. Signals change once per flush, not once per record. */
import { foldConversation } from "@chimera/acp-schema/conversation";
import type { SessionRecord } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import { batch, signal } from "@preact/signals-core";
import { createProjection } from "./project.js";

/** Milliseconds between two changes of the screen: faster costs twice as much and nobody sees it. */
const FLUSH_MS = 50;

export type OpenedSession = ReturnType<typeof openSession>;

export function openSession(id: string) {
  const conversation = foldConversation({ keep: "state" });
  const projection = createProjection();
  /** Counts up with each flush: what is read from the fold is read again. */
  const changed = signal(0);
  /** Counts up when items come, and when turns are undone. */
  const structure = signal(0);
  let seq = 0;
  let shown = 0;
  let isRewound = false;
  let isDue = false;

  const flush = () => {
    isDue = false;
    batch(() => {
      for (const item of projection.takeChanged()) item.changed.value++;
      if (projection.added !== shown || isRewound) structure.value++;
      shown = projection.added;
      isRewound = false;
      changed.value++;
    });
  };
  const soon = () => {
    if (!isDue) setTimeout(flush, FLUSH_MS);
    isDue = true;
  };
  return {
    id,
    conversation,
    turns: projection.turns,
    changed,
    structure,
    /** The number of the last record. */
    get seq() {
      return seq;
    },
    apply(record: SessionRecord) {
      seq = record.seq;
      conversation.apply(record);
      projection.apply(record);
      isRewound ||= REWINDS.has(record.type);
      soon();
    },
    lose({ missing, metadata }: Loss) {
      seq = missing.last;
      conversation.apply({ type: "lost", seq: missing.first, last: missing.last, reason: "damaged" });
      projection.note("error", metadata.text);
      soon();
    },
    /** A turn runs, or waits in the queue. */
    get isBusy() {
      return conversation.turns.some((turn) => !turn.ended);
    },
  };
}

// --- internal ---

const REWINDS: ReadonlySet<string> = new Set(["undo", "redo", "turn_start", "agent_result", "cancelled", "cleared"]);
