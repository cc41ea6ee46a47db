/** A log as it is answered whole: its records, and in the place of those that cannot be read what both streams show there. */
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import type { Damage, Entry } from "@chimera/event-store";
import type { Sessions } from "@chimera/session";
import { lossOf } from "./projection.js";

export async function* readLog(
  sessions: Sessions,
  id: string,
  to?: number,
): AsyncGenerator<Entry<SessionEvent> | Loss> {
  let losses: Loss[] = [];
  const onDamage = (damage: Damage) => {
    if (damage.seq !== null) losses.push(lossOf(damage));
  };
  for await (const entry of sessions.logs.read(id, { onDamage, ...(to !== undefined && { to }) })) {
    if (losses.length > 0) {
      yield* losses;
      losses = [];
    }
    yield entry;
  }
  yield* losses;
}

export function isLoss(found: Entry<SessionEvent> | Loss): found is Loss {
  return "missing" in found;
}
