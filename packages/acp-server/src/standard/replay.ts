/** Sends history as updates: all of it for `session/load`, everything after a cursor for `_chimera.dev/session/replay`. */
import { createUpgrade, type JoinedRecord } from "@chimera/acp-schema/conversation";
import { isLost, type Lost, type SessionRecord } from "@chimera/acp-schema/events";
import type { Connection } from "@chimera/ndjson-rpc";
import type { SessionLogs } from "@chimera/session";
import { endsMessage, type Frames } from "./frames.js";

/** Sends the updates of the records and returns their number. */
export async function replay(
  connection: Connection,
  frames: Frames,
  session: string,
  records: AsyncIterable<JoinedRecord | Lost>,
): Promise<number> {
  let replayed = 0;
  for await (const record of records) {
    const updates = isLost(record) ? [] : frames.of(record);
    for (const line of isLost(record) ? [frames.lost(record)] : updates) connection.notifyEncoded(line, { session });
    replayed += updates.length;
    await connection.drained(session);
  }
  return replayed;
}

/** As many records up to `to` as it takes to know which messages are unfinished after it. */
export async function readBefore(logs: SessionLogs, id: string, to: number): Promise<(SessionRecord | Lost)[]> {
  for (let count = LOOK_BACK; ; count *= 4) {
    const from = Math.max(0, to - count);
    const records: (SessionRecord | Lost)[] = [];
    for await (const record of readRaw(logs, id, { from, to })) records.push(record);
    if (from === 0 || records.some((record) => isLost(record) || endsMessage(record))) return records;
  }
}

/** How many records are read first; most messages are shorter. */
const LOOK_BACK = 64;

/** Every record of a range, upgraded to the present names. */
export async function* readRaw(
  logs: SessionLogs,
  id: string,
  range: { readonly from: number; readonly to: number },
): AsyncGenerator<SessionRecord | Lost> {
  const upgrade = createUpgrade();
  for await (const entry of logs.read(id, range)) {
    const record = isLost(entry) ? entry : upgrade(entry.event);
    if (record) yield record;
  }
}
