/** `session/resume`: the updates after a cursor, as far back as the history of the dialect reaches. */
import { type Conversation, createUpgrade } from "@chimera/acp-schema/conversation";
import { isLost, lostCount } from "@chimera/acp-schema/events";
import type { Connection } from "@chimera/ndjson-rpc";
import type { SessionLogs } from "@chimera/session";
import { lostFrame } from "../project/lost.js";
import type { NativeProjection } from "../project/native.js";
import { frameHead, nativeFrame } from "./view.js";

export interface ResumeReply {
  readonly sessionId: string;
  readonly replayed: number;
  readonly lastEventId: number;
  readonly truncated: boolean;
}

export async function replayNative(options: {
  readonly connection: Connection;
  readonly logs: SessionLogs;
  readonly id: string;
  readonly conversation: Conversation;
  readonly projection: NativeProjection;
  readonly since: number;
  /** How many updates are kept for resuming. */
  readonly historyLimit: number;
  readonly head: number;
}): Promise<ResumeReply> {
  const { connection, logs, id, conversation, projection, since, head } = options;
  const lastEventId = conversation.count(projection.types);
  const oldest = Math.max(1, lastEventId - options.historyLimit + 1);
  const from = Math.max(since, oldest - 1);
  const prefix = frameHead(id);
  const upgrade = createUpgrade();
  const mark = conversation.markBefore(projection.types, from);
  let eventId = mark.id;
  let replayed = 0;
  for await (const entry of logs.read(id, { from: mark.seq, to: head })) {
    if (from >= lastEventId) break;
    if (isLost(entry)) {
      eventId += lostCount(entry);
      // A client that is past them had them before they were lost.
      if (eventId > from) connection.notifyEncoded(lostFrame(id, entry, false));
      continue;
    }
    if (!projection.types.has(entry.type)) continue;
    eventId++;
    if (eventId <= from) continue;
    connection.notifyEncoded(nativeFrame(prefix, eventId, projection, upgrade(entry.event) ?? entry.event));
    replayed++;
    await connection.drained();
  }
  return { sessionId: id, replayed, lastEventId, truncated: lastEventId > 0 && since < oldest - 1 };
}
