/** An event from outside -> one of ours, or null. What is not understood must not get into a log that others fold. */

import { upgradeMetadata } from "@chimera/acp-schema/conversation";
import { type SessionEvent, type SessionRecord, SessionRecordSchema } from "@chimera/acp-schema/events";

export interface ImportedEvent {
  readonly event: SessionEvent;
  /** Epoch milliseconds; null when it does not say. */
  readonly at: number | null;
}

/** A prompt starts a turn, and nothing belongs to a turn before its prompt; older logs do not say. One reader per log. */
export function createEventReader(): (value: unknown) => ImportedEvent | null {
  let turns = 0;
  return (value) => {
    if (typeof value !== "object" || value === null) return null;
    const { type, metadata, turn, origin, ts } = value as Record<string, unknown>;
    if (typeof type !== "string" || typeof metadata !== "object" || metadata === null) return null;
    if (type === "user_message") turns++;
    const place = "turn" in value && type !== "user_message" ? turn : Math.max(0, turns - 1);
    if (place !== null && (typeof place !== "number" || place >= Math.max(1, turns))) return null;
    const candidate = {
      type,
      turn: place,
      ...(typeof origin === "string" && { origin }),
      metadata: "turn" in value ? metadata : upgradeMetadata(type, metadata as Record<string, unknown>, turns - 1),
    };
    const event = validated(candidate);
    const at = typeof ts === "string" ? Date.parse(ts) : Number.NaN;
    return event && { event, at: Number.isNaN(at) ? null : at };
  };
}

// --- internal ---

function validated(candidate: object): SessionEvent | null {
  const record = { seq: 1, id: "evt-00000000", ts: "2000-01-01T00:00:00.000Z", ...candidate };
  const result = SessionRecordSchema["~standard"].validate(record);
  if (result instanceof Promise || result.issues) return null;
  const { seq: _seq, id: _id, ts: _ts, ...event } = result.value as SessionRecord;
  return event as SessionEvent;
}
