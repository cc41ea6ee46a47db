/**
 * Records that cannot be read back -> what the client gets in their place. It is not a record, so it carries no event id: a client
 * that shows notices gets one, any other a notification it may ignore.
 */
import { describeLost, type Lost } from "@chimera/acp-schema/events";

export function lostFrame(sessionId: string, lost: Lost, showsNotices: boolean): string {
  const text = describeLost(lost);
  const [method, params] = showsNotices
    ? ["session/update", { sessionId, update: { sessionUpdate: "notice", severity: "error", title: text } }]
    : ["_chimera.dev/session/notice", { sessionId, level: "error", text }];
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}
