/** What a native client reads back of a log: updates for `session/resume`, events for `session/get`. */
import { type Conversation, createUpgrade } from "@chimera/acp-schema/conversation";
import { isLost, lostCount, lostNotice, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import { asShown } from "@chimera/acp-schema/parts";
import type { LogEntry } from "@chimera/event-store";
import type { Connection } from "@chimera/ndjson-rpc";
import type { SessionLogs } from "@chimera/session";
import type { NativeProjection } from "../project/otter.js";
import { frameHead, lostFrame, nativeFrame } from "./view.js";

/** Of records. Half of the longest line that a client of this package takes. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Sends the updates after a cursor, as far back as the history of the dialect reaches. */
export async function replayNative(options: {
  readonly connection: Connection;
  readonly logs: SessionLogs;
  readonly session: { readonly id: string; readonly conversation: Conversation };
  readonly projection: NativeProjection;
  readonly since: number;
  /** How many updates are kept for resuming. */
  readonly historyLimit: number;
  readonly head: number;
}) {
  const { connection, logs, projection, since, head } = options;
  const { id, conversation } = options.session;
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
      if (eventId > from) connection.notifyEncoded(lostFrame(id, entry), { session: id });
      continue;
    }
    if (!projection.types.has(entry.type)) continue;
    eventId++;
    if (eventId <= from) continue;
    connection.notifyEncoded(nativeFrame(prefix, eventId, projection, upgrade(entry.event) ?? entry.event), {
      session: id,
    });
    replayed++;
    await connection.drained(id);
  }
  return { sessionId: id, replayed, lastEventId, truncated: lastEventId > 0 && since < oldest - 1 };
}

/** A log in one frame: all of its events, or the newest that fit, with notices in the place of those that cannot be read. */
export async function newestEvents(
  logs: SessionLogs,
  id: string,
  to: number,
): Promise<{ readonly events: (SessionRecord | Loss)[]; readonly truncated: boolean }> {
  let kept: LogEntry<SessionEvent>[] = [];
  let bytes = 0;
  /** How many of `kept` do not fit any more. Taken away by the many: an array is not moved for each. */
  let gone = 0;
  let truncated = false;
  for await (const entry of logs.read(id, { to })) {
    kept.push(entry);
    bytes += sizeOf(entry);
    // The newest is there whatever its size.
    while (bytes > MOST_BYTES && gone < kept.length - 1) {
      bytes -= sizeOf(kept[gone++]!);
      truncated = true;
    }
    if (gone < 1024) continue;
    kept = kept.slice(gone);
    gone = 0;
  }
  const events = kept.slice(gone).map((entry) => (isLost(entry) ? lostNotice(entry) : asShown(entry.event)));
  return { events, truncated };
}

// --- internal ---

function sizeOf(entry: LogEntry<SessionEvent>): number {
  return isLost(entry) ? 0 : Buffer.byteLength(entry.line);
}
