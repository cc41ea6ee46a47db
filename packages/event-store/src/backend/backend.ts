import type { Entry, EventBody, ListedSession, ListOptions } from "../types.js";
import type { Replay } from "./replay.js";

/**
 * What a place to store logs supplies. `createStore` makes an `EventStore` of it: that numbers, encodes and stamps records, gathers
 * them into batches, hands them to readers and lets those catch up. A backend keeps lines and gives them back. It throws StoreError
 * `not_found`, `exists` and `claimed`; any other error becomes `io`, `read_only` or `storage_full`.
 */
export interface Backend<E extends EventBody, S extends object> {
  /** Makes a session, and holds it for writing. */
  create(id: string, summary: S): Promise<Held>;
  /** Holds an existing session for writing. */
  claim(id: string): Promise<Held>;
  /** Makes `to` with the records of `from` up to `upTo`, their lines verbatim, and holds it. A failure leaves nothing of it. */
  copy(from: string, to: string, options: Copy<E, S>): Promise<Held>;
  /** Makes a session of these records. It appears when all of it is durable, or not at all. */
  importLog(id: string, log: Import<E, S>): Promise<void>;
  has(id: string): Promise<boolean>;
  /** The number of the last record. */
  head(id: string): Promise<number>;
  /** Hands over what is written, in order: a record as an entry, and a `Lost` for every number that cannot be given back. */
  read(id: string, ...replay: Parameters<Replay<E>>): Promise<void>;
  /** Says where the log ends now and whenever another process wrote, until stopped; not while this process holds it. */
  watch(id: string, watcher: Watcher<E>): () => void;
  readSummary(id: string): Promise<S | null>;
  /** Replaces it in one step. With `sync` it survives the machine when this resolves. */
  writeSummary(id: string, summary: S, sync: boolean): Promise<void>;
  list(options: ListOptions<S>): Promise<{ sessions: ListedSession<S>[]; next: string | null }>;
  /** Removes a session, which may be gone already. When this process holds it, that ends too. */
  remove(id: string): Promise<void>;
  /** Removes what killed processes left in sessions that nobody has now. How much that was. */
  sweep?(): Promise<number>;
  close(): Promise<void>;
}

export interface Copy<E extends EventBody, S extends object> {
  readonly upTo: number;
  readonly summary: S;
  /** The records that follow the copied ones, in the same step, from the number and time stamp of the last of those. */
  readonly added: (lastSeq: number, lastTs: string) => readonly Entry<E>[];
}

export interface Import<E extends EventBody, S extends object> {
  readonly summary: S;
  /** Numbered from 1. What they throw leaves everything as it was. */
  readonly batches: AsyncIterable<readonly Entry<E>[]>;
  /** Called right before it takes the place of a session of its id; null where it may not: StoreError `exists`. */
  readonly onReplace: (() => void) | null;
}

/** A session that this process alone may write. */
export interface Held {
  /** The last number that was given out, lost records included; 0 for an empty log. */
  readonly lastSeq: number;
  /** The last number that is known to survive the machine: `lastSeq`, but for a fresh copy; -1 when the session itself may not. */
  readonly durableSeq: number;
  /** The time stamp of the last record; empty when there is none. */
  readonly lastTs: string;
  /** Aborted once another process is found to have taken over. */
  readonly lost: AbortSignal;
  /** Looks whether this process still holds the session, and aborts `lost` when it does not. Absent where only a write can tell. */
  isHeld?(): boolean;
  /**
   * Writes the batch after what is there, all of it or a beginning. Returns how many records survive the process now: fewer than
   * given when the store is full. Throws StoreError `fenced` when another process has taken over. The next batch is given when
   * this one is done.
   */
  write(batch: readonly Entry<EventBody>[]): number | Promise<number>;
  /** Makes everything written so far survive the machine, and returns the last number of it. Absent where `write` does. */
  sync?(): Promise<number>;
  /** Lets others hold the session. */
  release(): Promise<void>;
}

/** Who follows a log that another process may write. */
export interface Watcher<E extends EventBody> {
  /** The log ends here now: readers fetch what they have not seen. */
  advance(head: number): void;
  /** The same, where the backend has the new records at hand. */
  publish(batch: readonly Entry<E>[]): void;
  /** The session is gone, or cannot be followed for this reason. */
  end(reason?: unknown): void;
}
