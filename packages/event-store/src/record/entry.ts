import type { Entry, EventBody, Stored } from "../types.js";
import { lineId, lineTs, lineType } from "./line.js";

interface LazyEntry {
  readonly seq: number;
  readonly line: string;
  kind: string | undefined;
  body: object | undefined;
  decoded: object | undefined;
}

// A prototype in place of a getter per object: replays make these by the hundred thousand.
const ENTRY = {
  get type(): string {
    const entry = this as unknown as LazyEntry;
    entry.kind ??= lineType(entry.line);
    return entry.kind;
  },
  get event(): object {
    const entry = this as unknown as LazyEntry;
    entry.decoded ??= entry.body === undefined ? (JSON.parse(entry.line) as object) : stamped(entry, entry.body);
    return entry.decoded;
  },
};

/** An entry appended by this process: `event` is the given body with its number, id and time. */
export function appendedEntry<E extends EventBody>(seq: number, line: string, body: E): Entry<E> {
  return lazy(seq, body.type, line, body) as unknown as Entry<E>;
}

/** An entry read back: `event` is parsed on first use. */
export function replayedEntry<E extends EventBody>(seq: number, line: string): Entry<E> {
  return lazy(seq, undefined, line, undefined) as unknown as Entry<E>;
}

/** An entry of another layout, already parsed. */
export function parsedEntry<E extends EventBody>(event: Stored<E>): Entry<E> {
  return { seq: event.seq, type: event.type, line: JSON.stringify(event), event };
}

// --- internal ---

function stamped(entry: LazyEntry, body: object): object {
  const stamps = { seq: entry.seq, id: lineId(entry.line) };
  // Twice, so that the keys come first and a copied record's old stamps do not win.
  return Object.assign({}, stamps, body, stamps, { ts: lineTs(entry.line) });
}

function lazy(seq: number, kind: string | undefined, line: string, body: object | undefined): LazyEntry {
  return { __proto__: ENTRY, seq, line, kind, body, decoded: undefined } as LazyEntry;
}
