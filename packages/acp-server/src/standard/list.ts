/** `session/list`: pages of stored sessions, newest touched first. */
import type { ListSessionsResponse } from "@chimera/acp-schema";
import { startOf } from "@chimera/acp-schema/text";
import type { Engine } from "../context.js";

const PAGE = 50;

export async function listSessions(
  engine: Engine,
  cwd: string | null,
  cursor: string | null,
): Promise<ListSessionsResponse> {
  const rows = [];
  let after = cursor;
  do {
    const page = await engine.sessions.list({ limit: PAGE, ...(after !== null && { after }) });
    rows.push(...page.sessions.filter(({ summary }) => (cwd === null ? summary.cwd !== "" : summary.cwd === cwd)));
    after = page.next;
  } while (rows.length < PAGE && after !== null);
  const sessions = rows.map(({ id, summary, touched }) => ({
    sessionId: id,
    cwd: summary.cwd,
    title: summary.title ?? startOf(summary.prompt, 60),
    updatedAt: new Date(touched).toISOString(),
  }));
  return { sessions, ...(after !== null && { nextCursor: after }) };
}
