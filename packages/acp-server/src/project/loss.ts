/**
 * Records that cannot be read back -> what the client is told in their place. It is no record, so it carries no event id: a client
 * that shows notices gets one, any other a notification it may ignore.
 */
import type { Loss } from "@chimera/acp-schema/http";
import { type Damage, describeLoss } from "@chimera/event-store";

export function lossFrames(sessionId: string, { seq, last }: Damage, showsNotices: boolean): string[] {
  if (seq === null || last === null) return [];
  const text = describeLoss(seq, last);
  const [method, params] = showsNotices
    ? ["session/update", { sessionId, update: { sessionUpdate: "notice", severity: "error", title: text } }]
    : ["_chimera.dev/session/notice", { sessionId, level: "error", text }];
  return [JSON.stringify({ jsonrpc: "2.0", method, params })];
}

/** The same where a log is told whole, as HTTP tells it. */
export function lossRecord({ seq, last }: Damage): Loss {
  const missing = { first: seq ?? 0, last: last ?? 0 };
  const metadata = { level: "error", text: describeLoss(missing.first, missing.last) } as const;
  return { type: "notice", turn: null, metadata, missing };
}
