/** Makes the records of an import, in batches. Loaded with the first import, because a start does not need it. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../limits.js";
import type { Entry, EventBody, ImportedLog, LogEntry } from "../types.js";
import { createStamp, encodeBatch, withChecksum } from "./line.js";
import { batches } from "./replay.js";

/** Events between two reports of progress. */
const SLICE = 256;

/** Backends keep a line verbatim, so a record of another layout gets this layout's line first. */
export async function* copiedBatches<E extends EventBody>(
  records: AsyncIterable<LogEntry<E>>,
): AsyncGenerator<readonly Entry<E>[]> {
  let batch: Entry<E>[] = [];
  let size = 0;
  for await (const entry of records) {
    if (!("line" in entry)) continue;
    batch.push(withChecksum(entry));
    size += entry.line.length;
    if (size < LIMITS.pageBytes) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}

export async function* importedBatches<E extends EventBody>(
  events: NonNullable<ImportedLog<E, object>["events"]>,
  clock: () => number,
  onProgress?: (written: number) => void,
): AsyncGenerator<readonly Entry<E>[]> {
  let time = clock();
  const stamp = createStamp(() => time);
  function* encoded(): Generator<Entry<E>> {
    for (const [index, { event, at }] of events.entries()) {
      if (index > 0 && index % SLICE === 0) onProgress?.(index);
      time = at ?? time;
      yield* encodeBatch([event], index, stamp);
    }
  }
  for (const batch of batches(encoded())) {
    yield batch;
    // Lets other work run in between, however many events there are.
    await nextTurn();
  }
}
