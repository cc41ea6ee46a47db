/** What a client of a native dialect gets in the place of records that cannot be read: a notification it may ignore, without an id. */
import { describeLost, type Lost } from "@chimera/acp-schema/events";

export function lostFrame(sessionId: string, lost: Lost): string {
  const params = { sessionId, level: "error", text: describeLost(lost) };
  return JSON.stringify({ jsonrpc: "2.0", method: "_chimera.dev/session/notice", params });
}
