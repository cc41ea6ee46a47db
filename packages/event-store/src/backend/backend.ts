import type { Entry, EventBody, ListedSession, ListOptions } from "../types.js";
import type { Replay } from "./replay.js";

/**
 * The interface of a place to store logs. `createStore` makes an `EventStore` of it. The store numbers, encodes and stamps records,
 * gathers them into batches, hands them to readers and lets slow readers catch up. A backend keeps lines and gives them back. It
 * throws StoreError `not_found`, `exists` and `claimed`; any other error becomes `io`, `read_only` or `storage_full`.
 */
export interface Backend<E extends EventBody, S extends object> {
  /** Makes a session, and holds it for writing. */
  create(id: string, summary: S): Promise<Held>;
  /** Holds an existing session for writing. */
  claim(id: string): Promise<Held>;
  /** Makes `to` with the records of `from` up to `upTo`, copying their lines verbatim, and holds it. After a failure `to` does not exist. */
  copy(from: string, to: string, options: Copy<E, S>): Promise<Held>;
  /** Makes a session of these records. It appears when all of them are durable, or not at all. */
  importLog(id: string, log: Import<E, S>): Promise<void>;
  has(id: string): Promise<boolean>;
  /** The number of the last record. */
  head(id: string): Promise<number>;
  /** Hands over the written records in order, with a `Lost` in the place of those that cannot be given back. */
  read(id: string, ...replay: Parameters<Replay<E>>): Promise<void>;
  /**
   * Calls the watcher with the end of the log now and whenever another process has written, until the returned function is called.
   * The store does not watch a log that this process holds.
   */
  watch(id: string, watcher: Watcher<E>): () => void;
  readSummary(id: string): Promise<S | null>;
  /** Replaces the summary in one step. With `sync` it survives a crash of the machine once this resolves. */
  writeSummary(id: string, summary: S, sync: boolean): Promise<void>;
  list(options: ListOptions<S>): Promise<{ sessions: ListedSession<S>[]; next: string | null }>;
  /** Removes a session, which may be gone already, and ends this process's hold of it if there is one. */
  remove(id: string): Promise<void>;
  /** Removes what killed processes left in sessions that no process holds now. Returns how many leftovers it removed, or would. */
  sweep?(dryRun: boolean): Promise<number>;
  close(): Promise<void>;
}

export interface Copy<E extends EventBody, S extends object> {
  readonly upTo: number;
  readonly summary: S;
  /** Makes the records that follow the copied ones in the same step, given the number and time stamp of the last copied record. */
  readonly added: (lastSeq: number, lastTs: string) => readonly Entry<E>[];
}

export interface Import<E extends EventBody, S extends object> {
  readonly summary: S;
  /** Numbered from 1. If the iterable throws, the import changes nothing. */
  readonly batches: AsyncIterable<readonly Entry<E>[]>;
  /** Called right before the import replaces a session of the same id. Null when it may not replace one: StoreError `exists`. */
  readonly onReplace: (() => void) | null;
}

/** A session that this process alone may write. */
export interface Held {
  /** A mark of this log: another log in its place under the same id has another mark. It does not change once the log has a durable record. */
  origin(): string;
  /** The last number that was given out, lost records included; 0 for an empty log. */
  readonly lastSeq: number;
  /**
   * The last number that is known to survive a crash of the machine: `lastSeq`, except in a fresh copy; -1 when not even the session
   * is known to survive one.
   */
  readonly durableSeq: number;
  /** The time stamp of the last record; empty when there is none. */
  readonly lastTs: string;
  /** Aborted once another process is found to have taken over. */
  readonly lost: AbortSignal;
  /** Checks whether this process still holds the session, and aborts `lost` when it does not. Absent where only a write finds out. */
  isHeld?(): boolean;
  /**
   * Writes the batch at the end of the log: all of it, or its first records. Returns how many records survive the process now, which is
   * fewer than given when the store is full. Throws StoreError `fenced` when another process has taken over. The store calls it with
   * the next batch only when this one is done.
   */
  write(batch: readonly Entry<EventBody>[]): number | Promise<number>;
  /** Makes all written records survive a crash of the machine, and returns the last number. Absent where `write` does that already. */
  sync?(): Promise<number>;
  /** Lets others hold the session. */
  release(): Promise<void>;
}

/** Receives the changes of a log that another process may write. */
export interface Watcher<E extends EventBody> {
  /** The log ends at `head` now: readers fetch what they have not seen. */
  advance(head: number): void;
  /** Like `advance`, for a backend that has the new records in memory. */
  publish(batch: readonly Entry<E>[]): void;
  /** The session is gone, or cannot be followed for this reason. */
  end(reason?: unknown): void;
}
