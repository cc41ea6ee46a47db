/** A log in one frame: all of its events, or the newest that fit, with notices in the place of those that cannot be read. */
import type { SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import type { Damage, Entry, EventStore } from "@chimera/event-store";
import type { Summary } from "@chimera/session";
import { lossRecord } from "../project/loss.js";

/** Characters of records. Half of the longest line that a client of this package takes. */
const MOST_CHARS = 16 * 1024 * 1024;

export async function newestEvents(
  store: EventStore<SessionEvent, Summary>,
  id: string,
  to: number,
): Promise<{ readonly events: (SessionRecord | Loss)[]; readonly truncated: boolean }> {
  let kept: (Entry<SessionEvent> | Damage)[] = [];
  let chars = 0;
  /** How many of `kept` do not fit any more. Taken away by the many: an array is not moved for each. */
  let gone = 0;
  let truncated = false;
  const onDamage = (damage: Damage) => {
    if (damage.seq !== null) kept.push(damage);
  };
  for await (const entry of store.read(id, { to, onDamage })) {
    kept.push(entry);
    chars += entry.line.length;
    // The newest is there whatever its size.
    while (chars > MOST_CHARS && gone < kept.length - 1) {
      const oldest = kept[gone++]!;
      chars -= "line" in oldest ? oldest.line.length : 0;
      truncated = true;
    }
    if (gone < 1024) continue;
    kept = kept.slice(gone);
    gone = 0;
  }
  const events = kept.slice(gone).map((one) => ("line" in one ? one.event : lossRecord(one)));
  return { events, truncated };
}
