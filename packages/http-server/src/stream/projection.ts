/** The two families of event stream: what a record looks like in each. Pure, one frame per record, the same ids in both. */
import { endsTurn, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { Loss, sessionStream } from "@chimera/acp-schema/http";
import { asShown, hasHidden } from "@chimera/acp-schema/parts";
import { type Damage, describeLoss, type Entry } from "@chimera/event-store";
import type { Session } from "@chimera/session";
import type * as v from "valibot";
import { createEncoder, type Encoder, frame } from "./frame.js";

export interface Family {
  readonly encoder: Encoder;
  /** The frame in place of records that cannot be read. Without an id, because a reader resumes by records. */
  readonly lost: (loss: Loss) => string;
  /** Closes with `event: end` once a turn's last record has passed and nothing is left to run; otherwise it stays open. */
  readonly ends: boolean;
}

/** A record's line as it is in the log, but for what only the provider may see. */
export function lineOf(entry: Entry<SessionEvent>): string {
  return hasHidden(entry.type) ? JSON.stringify(asShown(entry.event)) : entry.line;
}

/** `/sessions/{id}/events`: records as they are in the log. */
export const canonical: Family = {
  encoder: createEncoder((entry) => frame(entry.seq, entry.type, lineOf(entry))),
  lost: (loss) => frame(null, loss.type, JSON.stringify(loss)),
  ends: true,
};

/** `/session/{id}/events`: the older envelope. */
export const envelope: Family = {
  encoder: createEncoder(({ seq, event }) => {
    const [name, data] = envelopeOf(event);
    return frame(seq, name, JSON.stringify(data));
  }),
  lost: ({ type, turn, metadata, missing }) => {
    const data = { message_id: null, type, data: { ...metadata, missing }, turn, timestamp: Date.now() / 1000 };
    return frame(null, "loop_event", JSON.stringify(data satisfies v.InferInput<Shapes["loop_event"]>));
  },
  ends: false,
};

/** Records that cannot be read, as the notice that both families show. */
export function lossOf({ seq, last }: Damage): Loss {
  const [first, end] = [seq ?? 0, last ?? 0];
  const metadata = { level: "error", text: describeLoss(first, end) } as const;
  return { type: "notice", turn: null, metadata, missing: { first, last: end } };
}

export interface Outcome {
  readonly success: boolean;
}

/** Whether the turn that ended last in a batch was a success; null when none ended in it. */
export function outcomeOf(batch: readonly Entry<SessionEvent>[]): Outcome | null {
  const last = batch.findLast((entry) => endsTurn(entry.type))?.event;
  return last ? { success: last.type === "agent_result" && last.metadata.success } : null;
}

/**
 * The same where a turn's last record is among those that are lost: a stream that waited for it would never end. A live session
 * remembers how its last turn ended; a log says at most that one did.
 */
export function lostOutcome(missing: readonly Damage[], session: Session | undefined): Outcome | null {
  if (missing.length === 0) return null;
  const { lastResult } = session?.conversation.facts ?? { lastResult: null };
  if (lastResult) return { success: lastResult.success };
  return missing.some(({ types = {} }) => Object.keys(types).some(endsTurn)) ? { success: false } : null;
}

// --- internal ---

type Shapes = typeof sessionStream;
type Envelope = { [N in keyof Shapes]: readonly [N, v.InferInput<Shapes[N]>] }[keyof Shapes];

function envelopeOf(record: SessionRecord): Envelope {
  const message_id = record.turn === null ? null : `msg-${record.turn}`;
  switch (record.type) {
    case "user_message":
      return ["user_message", { message_id: record.metadata.prompt, text: record.metadata.text }];
    case "permission_request": {
      const { permission_id, tool, args, risk } = record.metadata;
      return ["permission_request", { message_id, permission_id, tool, args, risk }];
    }
    case "error":
      return ["error", { message_id, error: record.metadata.message }];
    case "agent_result": {
      const { output, steps, cost, success } = record.metadata;
      return ["result", { message_id: message_id ?? "", output, steps, cost, success, cancelled: false }];
    }
    case "cancelled": {
      const { output, steps = 0, cost = 0 } = record.metadata;
      return ["result", { message_id: message_id ?? "", output, steps, cost, success: false, cancelled: true }];
    }
    default: {
      const { type, metadata, turn } = asShown(record);
      return ["loop_event", { message_id, type, data: metadata, turn, timestamp: Date.parse(record.ts) / 1000 }];
    }
  }
}
