/** Records as this release knows them: logs may be older or newer than it, and a server may be anybody's. */
import { type SessionRecord, SessionRecordSchema } from "@chimera/acp-schema/events";

/** More turns than any conversation has; a number beyond it is no turn's. */
const MOST_TURNS = 1_000_000;

/** The record when it is as it should be; otherwise one of no known type in its place, which every reader passes over. */
export function readable(record: SessionRecord): SessionRecord {
  const { issues } = SessionRecordSchema["~standard"].validate(record) as { issues?: unknown };
  if (issues === undefined && (record.turn ?? 0) < MOST_TURNS) return record;
  const { seq, id, ts } = record;
  return { seq, id, ts, turn: null, type: "unreadable", metadata: {} } as unknown as SessionRecord;
}
