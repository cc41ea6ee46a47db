/** History as updates: all of it for `session/load`, everything after a cursor for `_chimera.dev/session/replay`. */
import type { ClientCapabilities } from "@chimera/acp-schema";
import type { Damage } from "@chimera/event-store";
import type { Connection } from "@chimera/ndjson-rpc";
import { createOlderReader, type Session, type Sessions, visibleRecords } from "@chimera/session";
import { lossFrames } from "../project/loss.js";
import { clientShows, replayFrames } from "./view.js";

/** The visible conversation up to `upTo`, deltas joined. */
export async function replayVisible(
  connection: Connection,
  sessions: Sessions,
  session: Session,
  capabilities: ClientCapabilities,
  upTo: number,
): Promise<void> {
  const onDamage = tellLoss(connection, session, capabilities);
  const entries = sessions.storeOf(session.id).read(session.id, { to: upTo, onDamage });
  for await (const record of visibleRecords(entries, session.history.hidden())) {
    for (const line of replayFrames(session.id, record, capabilities)) connection.notifyEncoded(line);
    await connection.drained();
  }
}

/** Every record after the cursor, raw; returns how many frames went out. */
export async function replayRaw(
  connection: Connection,
  sessions: Sessions,
  session: Session,
  capabilities: ClientCapabilities,
  range: { readonly from: number; readonly to: number },
): Promise<number> {
  let replayed = 0;
  const onDamage = tellLoss(connection, session, capabilities);
  const older = createOlderReader();
  for await (const entry of sessions.storeOf(session.id).read(session.id, { ...range, onDamage })) {
    const record = older(entry.event);
    for (const line of record ? replayFrames(session.id, record, capabilities) : []) {
      connection.notifyEncoded(line);
      replayed++;
    }
    await connection.drained();
  }
  return replayed;
}

// --- internal ---

function tellLoss(connection: Connection, session: Session, capabilities: ClientCapabilities) {
  return (damage: Damage) => {
    const frames = lossFrames(session.id, damage, clientShows(capabilities).notices);
    for (const line of frames) connection.notifyEncoded(line);
  };
}
