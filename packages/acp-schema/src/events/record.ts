/** Defines the record, which is the same in memory, on disk and in the `data:` of a session's event stream. */
import * as v from "valibot";
import { count, ordinal } from "../define/scalar.js";
import { type Metadata, metadata, type RecordType } from "./metadata.js";

/** An event of an agent: a type and its metadata. The session adds the other fields of a record. */
export type AgentEvent = { [T in RecordType]: { type: T; metadata: Metadata<T> } }[RecordType];

/** An agent event with its turn (null outside a turn) and the client that caused it, if that is not the session's own. */
export type SessionEvent = AgentEvent & { turn: number | null; origin?: string };

/** A session event with the fields that the log adds. `id` is `evt-` and the CRC-32 of its own line. */
export type SessionRecord = SessionEvent & { seq: number; id: string; ts: string };

export type RecordOf<T extends RecordType> = Extract<SessionRecord, { type: T }>;

/** The entries of a record of one type, for schemas that add keys to it. */
// @__NO_SIDE_EFFECTS__
export function recordEntries<T extends RecordType>(type: T) {
  return {
    /** The number of the record, counted from 1 without gaps; also the id of its event in a stream. */
    seq: ordinal,
    /** `evt-` and a checksum of the record. */
    id: v.pipe(v.string(), v.regex(/^evt-[0-9a-f]{8}$/)),
    /** The type of the record; readers ignore unknown types. */
    type: v.literal(type),
    /** The number of its turn, counted from 0; null outside a turn. */
    turn: v.nullable(count),
    /** The client that caused it; absent if that was the session's own client. */
    origin: v.optional(v.string()),
    /** The fields of the type. */
    metadata: metadata[type],
    /** The time when it was written; never earlier than that of the record before. */
    ts: v.pipe(v.string(), v.isoTimestamp()),
  };
}

/** Validates a record from an untrusted source. Our own log needs no validation, because it has checksums. */
export const SessionRecordSchema: v.GenericSchema<unknown, SessionRecord> = /* @__PURE__ */ v.variant(
  "type",
  /* @__PURE__ */ (Object.keys(metadata) as RecordType[]).map((type) => v.object(recordEntries(type))) as never,
) as never;
