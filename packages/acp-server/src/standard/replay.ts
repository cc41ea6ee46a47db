/** History as updates: all of it for `session/load`, everything after a cursor for `_chimera.dev/session/replay`. */
import type { ClientCapabilities } from "@chimera/acp-schema";
import { isLost } from "@chimera/acp-schema/events";
import type { Connection } from "@chimera/ndjson-rpc";
import { createOlderReader, type Session, type Sessions, visibleRecords } from "@chimera/session";
import { createFrames } from "./frames.js";

export interface Replay {
  readonly connection: Connection;
  readonly sessions: Sessions;
  readonly session: Session;
  readonly capabilities: ClientCapabilities;
}

/** The visible conversation up to `to`, deltas joined. */
export async function replayVisible(
  { connection, sessions, session, capabilities }: Replay,
  to: number,
): Promise<void> {
  const frames = createFrames(session.id, capabilities);
  const entries = sessions.storeOf(session.id).read(session.id, { to });
  for await (const record of visibleRecords(entries, session.history.hidden())) {
    if (isLost(record)) connection.notifyEncoded(frames.lost(record));
    else frames.of(record).forEach(connection.notifyEncoded);
    await connection.drained();
  }
}

/** Every record after the cursor, raw; returns how many frames went out. */
export async function replayRaw(
  { connection, sessions, session, capabilities }: Replay,
  range: { readonly from: number; readonly to: number },
): Promise<number> {
  const frames = createFrames(session.id, capabilities);
  const older = createOlderReader();
  let replayed = 0;
  for await (const entry of sessions.storeOf(session.id).read(session.id, range)) {
    if (isLost(entry)) {
      connection.notifyEncoded(frames.lost(entry));
      continue;
    }
    const record = older(entry.event);
    for (const line of record ? frames.of(record) : []) {
      connection.notifyEncoded(line);
      replayed++;
    }
    await connection.drained();
  }
  return replayed;
}
