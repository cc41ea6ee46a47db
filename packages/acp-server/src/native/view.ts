/** Shows one session in a native dialect: counted updates, or plain records for clients of `session/turn`. */
import { describeLost, isLost, type Lost, lostCount, type SessionRecord } from "@chimera/acp-schema/events";
import { turnNotifications } from "@chimera/acp-schema/otter";
import type { NativeProjection } from "../project/otter.js";
import type { SessionView } from "../session-view.js";

/** By record type: the notification that a client of `session/turn` gets instead of `session/update`. */
const TURN_METHODS: ReadonlyMap<string, string> = new Map(
  Object.entries(turnNotifications).map(([method, type]) => [type, method]),
);

/** Such a client gets questions as updates all the same, because there is no other way to ask it. */
const ASKING: ReadonlySet<string> = new Set(["permission_request", "question_asked"]);

export interface NativeView extends SessionView {
  /** From now on this client gets camelCase notifications for this session. */
  useTurnNotifications(): void;
}

/** @param shown - How many updates of the session the client has when the view begins. */
export function nativeView(id: string, projection: NativeProjection, shown: number): NativeView {
  const head = frameHead(id);
  let eventId = shown;
  let turnClient = false;

  return {
    useTurnNotifications() {
      turnClient = true;
    },
    frames(entry) {
      if (isLost(entry)) {
        eventId += lostCount(entry);
        return [lostFrame(id, entry)];
      }
      if (projection.types.has(entry.type)) eventId++;
      if (turnClient && !ASKING.has(entry.type)) {
        const method = TURN_METHODS.get(entry.type);
        // The params are the record's own line with the session's id added.
        return method
          ? [
              `{"jsonrpc":"2.0","method":"${method}","params":{"sessionId":${JSON.stringify(id)},${entry.line.slice(1)}}`,
            ]
          : [];
      }
      return projection.types.has(entry.type) ? [nativeFrame(head, eventId, projection, entry.event)] : [];
    },
    answer: (stopReason, turn) =>
      stopReason === "error" ? null : { sessionId: id, stopReason, output: turn?.result?.output ?? "" },
  };
}

export function frameHead(sessionId: string): string {
  return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":${JSON.stringify(sessionId)},"eventId":`;
}

export function nativeFrame(
  head: string,
  eventId: number,
  projection: NativeProjection,
  record: SessionRecord,
): string {
  return `${head}${eventId},${JSON.stringify(projection.params(record)).slice(1)}}`;
}

/** The notification that replaces records that cannot be read. It has no event id, and a client may ignore it. */
export function lostFrame(sessionId: string, lost: Lost): string {
  const params = { sessionId, level: "error", text: describeLost(lost) };
  return JSON.stringify({ jsonrpc: "2.0", method: "_chimera.dev/session/notice", params });
}
