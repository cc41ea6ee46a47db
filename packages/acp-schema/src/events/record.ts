/** The canonical record: the same in memory, on disk and in the `data:` of a session's event stream. */
import * as v from "valibot";
import { type Metadata, metadata, type RecordType } from "./metadata.js";

/** What an agent yields and a session stamps: a type and its metadata, nothing else. */
export type AgentEvent = { [T in RecordType]: { type: T; metadata: Metadata<T> } }[RecordType];

/** An agent event placed in a session: which turn it belongs to (null outside one) and who caused it, if not the owner. */
export type SessionEvent = AgentEvent & { turn: number | null; origin?: string };

/** A session event as the log numbered it. `id` is `evt-` and the CRC-32 of its own line. */
export type SessionRecord = SessionEvent & { seq: number; id: string; ts: string };

export type RecordOf<T extends RecordType> = Extract<SessionRecord, { type: T }>;

/** The keys of a record of one type, for schemas that carry one among other keys. */
// @__NO_SIDE_EFFECTS__
export function recordEntries<T extends RecordType>(type: T) {
  return {
    seq: v.pipe(v.number(), v.integer(), v.minValue(1)),
    id: v.pipe(v.string(), v.regex(/^evt-[0-9a-f]{8}$/)),
    type: v.literal(type),
    turn: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0))),
    origin: v.optional(v.string()),
    metadata: metadata[type],
    ts: v.pipe(v.string(), v.isoTimestamp()),
  };
}

/** Validates a record read from an untrusted place; our own log is trusted by its checksum. */
export const SessionRecordSchema: v.GenericSchema<unknown, SessionRecord> = /* @__PURE__ */ v.variant(
  "type",
  /* @__PURE__ */ (Object.keys(metadata) as RecordType[]).map((type) => v.object(recordEntries(type))) as never,
) as never;
