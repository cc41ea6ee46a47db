import { statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lineId, parsedEntry } from "../backend/line.js";
import { storageError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { orElse } from "../or-else.js";
import type { EventBody, EventStore, LogEntry, Stored } from "../types.js";
import { readRegular } from "./regular-file.js";

/** One event in a file of its own: `event-NNNNNN-<8 hex>.json`. Older logs consist of such files; new records go to segments. */
export interface EventFile {
  readonly name: string;
  /** 1-based, whether the names count from 0 or from 1. */
  readonly seq: number;
  readonly hex: string;
}

const NAME = /^event-(\d{6,15})-([0-9a-f]{8})\.json$/;

/** The event files among a directory's names, in order. When two have the same number, the first by name counts. */
export function listEventFiles(names: readonly string[]): EventFile[] {
  const found = names
    .map((name) => ({ name, match: NAME.exec(name) }))
    .filter((file) => file.match !== null)
    .map(({ name, match }) => ({ name, index: Number(match![1]), hex: match![2]! }))
    .sort((a, b) => a.index - b.index || (a.name < b.name ? -1 : 1))
    .filter((file, i, all) => file.index !== all[i - 1]?.index);
  const shift = found[0]?.index === 0 ? 1 : 0;
  return found.map(({ name, index, hex }) => ({ name, seq: index + shift, hex }));
}

/**
 * Reads event files with either body in use: `{id, type, metadata, ts}` or `{idx, event_id, type, timestamp, metadata}`. The
 * second body's time stamp is not wall time, so the file's own time is used. A `Lost` takes the place of gaps and unreadable files.
 */
export function* readEventFiles<E extends EventBody>(
  directory: string,
  files: readonly EventFile[],
  range: { readonly from: number; readonly to: number },
): Generator<LogEntry<E>> {
  let expected = range.from + 1;
  for (const file of files) {
    if (file.seq <= range.from) continue;
    if (file.seq > range.to) return;
    if (expected < file.seq) yield { type: "lost", seq: expected, last: file.seq - 1, reason: "missing" };
    expected = file.seq + 1;
    const event = readEventFile<E>(join(directory, file.name), file);
    if (event === null) yield { type: "lost", seq: file.seq, last: file.seq, reason: "damaged" };
    else yield parsedEntry(event);
  }
}

/** The time of the last event that can be read. Empty if there is none. */
export function lastEventTime(directory: string, files: readonly EventFile[]): string {
  for (const file of [...files].reverse()) {
    const event = readEventFile(join(directory, file.name), file);
    if (event !== null) return event.ts;
  }
  return "";
}

/**
 * Writes a session in the layout of one file per event: `event-NNNNNN-<8 hex>.json`, counted from 1, with
 * `{id, type, metadata, ts}` bodies, and `summary.json`. The directory is created; existing files are replaced. Returns the
 * number of events.
 *
 * @example
 * const count = await writeEventFiles(store, id, "./export");
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

// --- internal ---

function readEventFile<E extends EventBody>(path: string, file: EventFile): Stored<E> | null {
  const body: unknown = orElse(() => JSON.parse(readRegular(path, LIMITS.recordBytes) ?? ""), null);
  if (typeof body !== "object" || body === null || typeof (body as EventBody).type !== "string") return null;
  const { idx: _idx, event_id: _eventId, timestamp: _timestamp, ...rest } = body as Record<string, unknown>;
  const { id: _id, seq: _seq, ts, ...own } = rest;
  const time = typeof ts === "string" && !Number.isNaN(Date.parse(ts)) ? new Date(ts) : statSync(path).mtime;
  return { seq: file.seq, id: `evt-${file.hex}`, ...own, ts: time.toISOString() } as unknown as Stored<E>;
}
