/** Reads a log back for a native client: updates for `session/resume`, events for `session/get`. */
import { type Conversation, createUpgrade } from "@chimera/acp-schema/conversation";
import { isLost, lostCount, lostNotice, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import { asShown } from "@chimera/acp-schema/parts";
import type { LogEntry } from "@chimera/event-store";
import type { Connection } from "@chimera/ndjson-rpc";
import type { SessionLogs } from "@chimera/session";
import type { NativeProjection } from "../project/otter.js";
import { frameHead, lostFrame, nativeFrame } from "./view.js";

/** Most bytes of records per replay: half of a client's longest line. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Sends the updates after a cursor, at most `historyLimit` of them. */
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
      // A client whose cursor is later got the records before they were lost.
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

/** All events of a log, or the newest that fit into one frame, with notices in place of those that cannot be read. */
export async function newestEvents(
  logs: SessionLogs,
  id: string,
  to: number,
): Promise<{ readonly events: (SessionRecord | Loss)[]; readonly truncated: boolean }> {
  let kept: LogEntry<SessionEvent>[] = [];
  let bytes = 0;
  /** How many of the first of `kept` do not fit any more. They are removed in batches, since each removal moves the array. */
  let gone = 0;
  let truncated = false;
  for await (const entry of logs.read(id, { to })) {
    kept.push(entry);
    bytes += sizeOf(entry);
    // The newest event is kept whatever its size.
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
