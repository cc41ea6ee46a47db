import type { Entry, EventBody, LogEntry, Stored } from "../types.js";
import { hex8, lineChecksum, lineHead, lineId, lineTs, lineType } from "./line.js";

/**
 * An entry appended by this process. Its line is put together when somebody asks for it; the file store sets its
 * checksum when it encodes the bytes, and this entry computes it only for a reader who asks sooner.
 *
 * A class, here and below: streams and replays make entries by the hundred thousand, and an object with a prototype of ours
 * costs six times as much otherwise.
 */
export class AppendedEntry<E extends EventBody> implements Entry<E> {
  readonly seq: number;
  readonly type: string;
  /** What stands behind the checksum in the line. */
  readonly tail: string;
  checksum = -1;
  readonly #body: E;
  #line: string | undefined = undefined;
  #event: Stored<E> | undefined = undefined;

  constructor(seq: number, tail: string, body: E) {
    this.seq = seq;
    this.type = body.type;
    this.tail = tail;
    this.#body = body;
  }

  get line(): string {
    if (this.#line === undefined) {
      if (this.checksum < 0) this.checksum = lineChecksum(this.seq, this.tail);
      this.#line = lineHead(this.seq) + hex8(this.checksum) + this.tail;
    }
    return this.#line;
  }

  /** The given body with its number, id and time. */
  get event(): Stored<E> {
    this.#event ??= stamped(this.#body, this.seq, this.line);
    return this.#event;
  }
}

/** An entry read back: `event` is parsed on first use. */
export class ReplayedEntry<E extends EventBody> implements Entry<E> {
  readonly seq: number;
  readonly line: string;
  #type: string | undefined = undefined;
  #event: Stored<E> | undefined = undefined;

  constructor(seq: number, line: string) {
    this.seq = seq;
    this.line = line;
  }

  get type(): string {
    this.#type ??= lineType(this.line);
    return this.#type;
  }

  get event(): Stored<E> {
    this.#event ??= JSON.parse(this.line) as Stored<E>;
    return this.#event;
  }
}

/** An entry of another layout, already parsed. */
export function parsedEntry<E extends EventBody>(event: Stored<E>): Entry<E> {
  return { seq: event.seq, type: event.type, line: JSON.stringify(event), event };
}

/** The last number that an entry stands for. */
export function lastOf(entry: LogEntry<EventBody>): number {
  return "last" in entry ? entry.last : entry.seq;
}

// --- internal ---

function stamped<E extends EventBody>(body: E, seq: number, line: string): Stored<E> {
  const stamps = { seq, id: lineId(line) };
  // Twice, so that the keys come first and a copied record's old stamps do not win.
  return Object.assign({}, stamps, body, stamps, { ts: lineTs(line) });
}
