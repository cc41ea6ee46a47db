/** Records from anywhere, made safe to look into. */
import { type SessionRecord, SessionRecordSchema } from "@chimera/acp-schema/events";

/** More turns than any conversation has; a number beyond it names no turn. */
const MOST_TURNS = 1_000_000;

/** The record, or one of no known type in place of a malformed one: logs and servers may be anybody's. */
export function readable(record: SessionRecord): SessionRecord {
  const { issues } = SessionRecordSchema["~standard"].validate(record) as { issues?: unknown };
  if (issues === undefined && (record.turn ?? 0) < MOST_TURNS) return record;
  const { seq, id, ts } = record;
  return { seq, id, ts, turn: null, type: "unreadable", metadata: {} } as unknown as SessionRecord;
}
