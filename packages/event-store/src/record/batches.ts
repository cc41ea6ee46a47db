import { LIMITS } from "../limits.js";
import type { Entry, EventBody } from "../types.js";

/** Groups entries into batches of about 64 KiB. */
export function* batches<E extends EventBody>(entries: Iterable<Entry<E>>): Generator<readonly Entry<E>[]> {
  let batch: Entry<E>[] = [];
  let bytes = 0;
  for (const entry of entries) {
    batch.push(entry);
    bytes += entry.line.length;
    if (bytes < LIMITS.batchBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
