/** `session/resume`: the updates after a cursor, as far back as the history of the dialect reaches. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import type { Damage, EventStore } from "@chimera/event-store";
import type { Connection } from "@chimera/ndjson-rpc";
import { createOlderReader, type Session } from "@chimera/session";
import { lossFrames } from "../project/loss.js";
import type { NativeProjection } from "../project/native.js";
import { frameHead, nativeFrame, notifying } from "./view.js";

export interface ResumeReply {
  readonly sessionId: string;
  readonly replayed: number;
  readonly lastEventId: number;
  readonly truncated: boolean;
}

export async function replayNative(options: {
  readonly connection: Connection;
  readonly store: EventStore<SessionEvent, Summary>;
  readonly session: Session;
  readonly projection: NativeProjection;
  readonly since: number;
  /** How many updates are kept for resuming. */
  readonly historyLimit: number;
  readonly head: number;
}): Promise<ResumeReply> {
  const { connection, store, session, projection, since, head } = options;
  const lastEventId = session.history.count(projection.types);
  const oldest = Math.max(1, lastEventId - options.historyLimit + 1);
  const from = Math.max(since, oldest - 1);
  const prefix = frameHead(session.id);
  const older = createOlderReader();
  let eventId = 0;
  let replayed = 0;
  const onDamage = (damage: Damage) => {
    const lost = notifying(damage, projection);
    eventId += lost;
    // The client had them before they were lost, or, of those that notified nobody, is past their place.
    if (lost > 0 ? eventId <= from : eventId < from) return;
    for (const line of lossFrames(session.id, damage, false)) connection.notifyEncoded(line);
  };
  for await (const entry of store.read(session.id, { to: head, onDamage })) {
    if (from >= lastEventId) break;
    if (!projection.types.has(entry.type)) continue;
    eventId++;
    if (eventId <= from) continue;
    connection.notifyEncoded(nativeFrame(prefix, eventId, projection, older(entry.event) ?? entry.event));
    replayed++;
    await connection.drained();
  }
  return { sessionId: session.id, replayed, lastEventId, truncated: lastEventId > 0 && since < oldest - 1 };
}
