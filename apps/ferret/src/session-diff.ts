/** What the file tools changed in a session, as unified diffs; turns that were undone are left out. */
import { isLost } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import type { Session, Sessions } from "@chimera/session";

const MAX_CHARS = 64 * 1024;

export async function sessionDiff(sessions: Sessions, session: Session): Promise<string> {
  const hidden = session.conversation.hidden();
  let text = "";
  for await (const entry of sessions.logs.read(session.id)) {
    if (isLost(entry) || entry.type !== "file_edit") continue;
    const { event } = entry;
    if (event.type !== "file_edit" || (event.turn !== null && hidden.has(event.turn))) continue;
    text += event.metadata.diff.endsWith("\n") ? event.metadata.diff : `${event.metadata.diff}\n`;
    if (text.length > MAX_CHARS) return `${startOf(text, MAX_CHARS)}\n[more changes are not shown]`;
  }
  return text || "/diff: no file was changed";
}
