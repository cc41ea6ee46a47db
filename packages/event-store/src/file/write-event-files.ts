import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { storageError } from "../errors.js";
import { lineId } from "../record/line.js";
import type { EventBody, EventStore } from "../types.js";

/**
 * Writes a session in the layout of one file per event: `event-NNNNNN-<8 hex>.json`, counted from 1, with
 * `{id, type, metadata, ts}` bodies, and `summary.json`. The directory is created; existing files are replaced. Returns the
 * number of events.
 */
export async function writeEventFiles<E extends EventBody, S extends object>(
  store: EventStore<E, S>,
  id: string,
  directory: string,
): Promise<number> {
  let count = 0;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for await (const entry of store.read(id)) {
      if ("last" in entry) continue;
      const { seq, ...body } = entry.event;
      const name = `event-${String(seq).padStart(6, "0")}-${lineId(entry.line).slice(4)}.json`;
      await writeFile(join(directory, name), `${JSON.stringify(body, null, 2)}\n`, { mode: 0o600 });
      count++;
    }
    const summary = await store.readSummary(id);
    if (summary !== null) {
      await writeFile(join(directory, "summary.json"), `${JSON.stringify(summary, null, 2)}\n`, { mode: 0o600 });
    }
  } catch (error) {
    throw storageError(error, `cannot export session ${id}`);
  }
  return count;
}
