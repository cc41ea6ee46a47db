/** The form of an entry in the two families of event streams. Both have one frame for each entry, with the same ids. */
import {
  endsTurn,
  isLost,
  type Lost,
  lostNotice,
  type SessionEvent,
  type SessionRecord,
} from "@chimera/acp-schema/events";
import type { sessionStream } from "@chimera/acp-schema/http";
import { asShown, hasHidden } from "@chimera/acp-schema/parts";
import type { LogEntry } from "@chimera/event-store";
import type { Session } from "@chimera/session";
import type * as v from "valibot";
import { createEncoder, type Encoder, frame } from "./frame.js";

export interface Family {
  readonly encoder: Encoder;
  /** True if a stream closes with `event: end` when a turn has ended and no other turn waits. Otherwise it stays open. */
  readonly ends: boolean;
}

/** A record's line from the log, without fields that only the provider may see. For lost records: a notice. */
export function lineOf(entry: LogEntry<SessionEvent>): string {
  if (isLost(entry)) return JSON.stringify(lostNotice(entry));
  return hasHidden(entry.type) ? JSON.stringify(asShown(entry.event)) : entry.line;
}

/** `/sessions/{id}/events`: records as they are in the log. A notice has no id, because a reader resumes after a record. */
export const canonical: Family = {
  encoder: createEncoder((entry) =>
    isLost(entry) ? frame(null, "notice", lineOf(entry)) : frame(entry.seq, entry.type, lineOf(entry)),
  ),
  ends: true,
};

/** `/session/{id}/events`: the older envelope. */
export const envelope: Family = {
  encoder: createEncoder((entry) => {
    const [name, data] = isLost(entry) ? lostEnvelope(entry) : envelopeOf(entry.event);
    return frame(isLost(entry) ? null : entry.seq, name, JSON.stringify(data));
  }),
  ends: false,
};

export interface Outcome {
  readonly success: boolean;
}

/**
 * Whether the last turn that ended in a batch was a success. Null if no turn ended in it. Lost records count as the end of a turn, because
 * a stream that waits for a lost record would never end. A loaded session knows how its last turn ended; without one, the turn counts as
 * failed.
 */
export function outcomeOf(batch: readonly LogEntry<SessionEvent>[], session: Session | undefined): Outcome | null {
  const last = batch.findLast((entry) => isLost(entry) || endsTurn(entry.type));
  if (last === undefined) return null;
  if (!isLost(last)) return { success: last.event.type === "agent_result" && last.event.metadata.success };
  if (session === undefined) return { success: false };
  return session.conversation.facts.lastResult && { success: session.conversation.facts.lastResult.success };
}

// --- internal ---

type Shapes = typeof sessionStream;
type Envelope = { [N in keyof Shapes]: readonly [N, v.InferInput<Shapes[N]>] }[keyof Shapes];

function lostEnvelope(lost: Lost): Envelope {
  const { type, turn, metadata, missing } = lostNotice(lost);
  const now = Date.now();
  const times = { timestamp: now / 1000, ts: new Date(now).toISOString() };
  return ["loop_event", { message_id: null, type, data: { ...metadata, missing }, turn, ...times }];
}

function envelopeOf(record: SessionRecord): Envelope {
  const message_id = record.turn === null ? null : `msg-${record.turn}`;
  switch (record.type) {
    case "user_message":
      return ["user_message", { message_id: record.metadata.prompt, text: record.metadata.text }];
    case "permission_request": {
      const { call_id: _, options: __, ...question } = record.metadata;
      return ["permission_request", { message_id, ...question }];
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
      const { ts } = record;
      return ["loop_event", { message_id, type, data: metadata, turn, timestamp: Date.parse(ts) / 1000, ts }];
    }
  }
}
