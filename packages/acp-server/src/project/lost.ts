/** What a client gets in the place of records that cannot be read: a notice or an ignorable notification, without an id. */
import { describeLost, type Lost } from "@chimera/acp-schema/events";

export function lostFrame(sessionId: string, lost: Lost, showsNotices: boolean): string {
  const text = describeLost(lost);
  const [method, params] = showsNotices
    ? ["session/update", { sessionId, update: { sessionUpdate: "notice", severity: "error", title: text } }]
    : ["_chimera.dev/session/notice", { sessionId, level: "error", text }];
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}
