/** A log in one frame: all of its events, or the newest that fit, with notices in the place of those that cannot be read. */
import type { SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import type { Summary } from "@chimera/acp-schema/summary";
import type { Damage, Entry, EventStore } from "@chimera/event-store";
import { lossRecord } from "../project/loss.js";

/** Of records. Half of the longest line that a client of this package takes. */
const MOST_BYTES = 16 * 1024 * 1024;

export async function newestEvents(
  store: EventStore<SessionEvent, Summary>,
  id: string,
  to: number,
): Promise<{ readonly events: (SessionRecord | Loss)[]; readonly truncated: boolean }> {
  let kept: (Entry<SessionEvent> | Damage)[] = [];
  let bytes = 0;
  /** How many of `kept` do not fit any more. Taken away by the many: an array is not moved for each. */
  let gone = 0;
  let truncated = false;
  const onDamage = (damage: Damage) => {
    if (damage.seq !== null) kept.push(damage);
  };
  for await (const entry of store.read(id, { to, onDamage })) {
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
  const events = kept.slice(gone).map((one) => ("line" in one ? one.event : lossRecord(one)));
  return { events, truncated };
}

// --- internal ---

function sizeOf(one: Entry<SessionEvent> | Damage): number {
  return "line" in one ? Buffer.byteLength(one.line) : 0;
}
