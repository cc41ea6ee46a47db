import { LIMITS } from "../limits.js";
import type { EventBody, LogEntry } from "../types.js";

/** About what one lost run takes. */
const LOST_BYTES = 64;

/** Groups entries into batches of about 64 KiB. */
export function* batches<E extends EventBody>(entries: Iterable<LogEntry<E>>): Generator<readonly LogEntry<E>[]> {
  let batch: LogEntry<E>[] = [];
  let bytes = 0;
  for (const entry of entries) {
    batch.push(entry);
    bytes += "line" in entry ? entry.line.length : LOST_BYTES;
    if (bytes < LIMITS.pageBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
