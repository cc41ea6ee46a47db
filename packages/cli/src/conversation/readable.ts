/** Makes records from an untrusted log or server safe to use. */
import { type SessionRecord, SessionRecordSchema } from "@chimera/acp-schema/events";

/** More turns than any conversation has. A record with a higher number is malformed. */
const MOST_TURNS = 1_000_000;

/** Returns the record; replaces a malformed one by a record of an unknown type. */
export function readable(record: SessionRecord): SessionRecord {
  const { issues } = SessionRecordSchema["~standard"].validate(record) as { issues?: unknown };
  if (issues === undefined && (record.turn ?? 0) < MOST_TURNS) return record;
  const { seq, id, ts } = record;
  return { seq, id, ts, turn: null, type: "unreadable", metadata: {} } as unknown as SessionRecord;
}
