/** A log in one frame: all of its events, or the newest that fit, with notices in the place of those that cannot be read. */
import { isLost, lostNotice, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import { asShown } from "@chimera/acp-schema/parts";
import type { LogEntry } from "@chimera/event-store";
import type { SessionLogs } from "@chimera/session";

/** Of records. Half of the longest line that a client of this package takes. */
const MOST_BYTES = 16 * 1024 * 1024;

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
