import { LIMITS } from "../limits.js";
import type { Damage, Entry, EventBody } from "../types.js";

/** Groups entries into batches of about 64 KiB. Damage among them is reported in its place: between two batches. */
export function* batches<E extends EventBody>(
  items: Iterable<Entry<E> | Damage>,
  report?: (damage: Damage) => void,
): Generator<readonly Entry<E>[]> {
  let batch: Entry<E>[] = [];
  let bytes = 0;
  for (const item of items) {
    if ("line" in item) {
      batch.push(item);
      bytes += item.line.length;
      if (bytes < LIMITS.pageBytes) continue;
    }
    if (batch.length > 0) yield batch;
    batch = [];
    bytes = 0;
    if (!("line" in item)) report?.(item);
  }
  if (batch.length > 0) yield batch;
}
