/** History as updates: all of it for `session/load`, everything after a cursor for `_chimera.dev/session/replay`. */
import type { ClientCapabilities } from "@chimera/acp-schema";
import { createUpgrade } from "@chimera/acp-schema/conversation";
import { isLost, type Lost, type SessionRecord } from "@chimera/acp-schema/events";
import type { Connection } from "@chimera/ndjson-rpc";
import type { Session, Sessions } from "@chimera/session";
import { createFrames } from "./frames.js";

export interface Replay {
  readonly connection: Connection;
  readonly sessions: Sessions;
  readonly session: Session;
  readonly capabilities: ClientCapabilities;
}

/** The visible conversation, deltas joined. */
export async function replayVisible(
  { connection, session, capabilities }: Omit<Replay, "sessions">,
  visible: AsyncIterable<SessionRecord | Lost>,
): Promise<void> {
  const frames = createFrames(session.id, capabilities);
  for await (const record of visible) {
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
  const upgrade = createUpgrade();
  let replayed = 0;
  for await (const entry of sessions.logs.read(session.id, range)) {
    if (isLost(entry)) {
      connection.notifyEncoded(frames.lost(entry));
      continue;
    }
    const record = upgrade(entry.event);
    for (const line of record ? frames.of(record) : []) {
      connection.notifyEncoded(line);
      replayed++;
    }
    await connection.drained();
  }
  return replayed;
}
