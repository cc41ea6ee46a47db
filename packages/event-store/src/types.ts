/**
 * The store contract: one append-only, numbered log per session. It knows nothing of agents: an event is any JSON object
 * with a `type`, a summary any JSON object.
 */

/** What a caller appends. The store adds `seq`, `id` and `ts`. */
export interface EventBody {
  readonly type: string;
}

/** An event as the log numbered it. */
export type Stored<E extends EventBody> = E & { readonly seq: number; readonly id: string; readonly ts: string };

/**
 * One numbered event as readers receive it. `line` is its JSON text, encoded once and shared by every reader; `event` is
 * decoded from it on first use unless it was appended by this process.
 */
export interface Entry<E extends EventBody> {
  readonly seq: number;
  readonly type: string;
  readonly line: string;
  readonly event: Stored<E>;
}

/** Something that could not be read back. The places of lost records are kept, so that numbers never shift. */
export interface Damage {
  /** The first record it cost, and the last one of those in a row; both null when it cost none. */
  readonly seq: number | null;
  readonly last: number | null;
  readonly where: string;
  readonly reason: string;
  /** Of which types those records were, as far as what is left of the log tells. */
  readonly types?: TypeCounts;
}

/** `turn`: acknowledgements wait for the disk. `event`: every delivery does. `none`: nothing does. */
export type Durability = "turn" | "event" | "none";

/** The single writer of one session, fenced: a newer writer's existence makes every call fail with `fenced`. */
export interface LogWriter<E extends EventBody> {
  readonly id: string;
  readonly fence: number;
  /** The last number handed out; 0 for an empty log. */
  readonly lastSeq: number;
  readonly writtenSeq: number;
  readonly durableSeq: number;
  /**
   * Numbers the events at once and queues them for the write at the end of this tick; readers get them after it.
   * `expectedSeq`, when given, must equal `lastSeq`. Returns the entries. Throws StoreError `conflict`, `fenced`, `closed`,
   * or the error of an earlier failed write (`storage_full`, `io`) until one succeeds.
   */
  append(events: readonly E[], options?: { expectedSeq?: number }): readonly Entry<E>[];
  /** Resolves when everything up to `seq` (default: all appended) is written, and so survives the process. */
  written(seq?: number): Promise<void>;
  /** Resolves when everything up to `seq` is on disk, and so survives the machine. At durability `none`: when written. */
  durable(seq?: number): Promise<void>;
  /** Writes what is queued and releases the claim. The session can be opened again, here or elsewhere. */
  close(): Promise<void>;
}

/**
 * How many records of each type precede a place in the log, lost ones included as far as is known: what makes dialect event ids a
 * pure function of it.
 */
export type TypeCounts = Readonly<Record<string, number>>;

/** A reader's position and its flow control. A reader is a cursor: pushed to while it keeps up, re-reading when it did not. */
export interface Subscription {
  /** The last number delivered. */
  readonly cursor: number;
  /** Resolves when the subscription has ended: closed, session deleted, or store closed. Rejects on a read error. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Where a batch stands. */
export interface Position {
  /** The batch reached the head of the log. */
  readonly live: boolean;
  /**
   * The records right before the batch that this reader will never get: damaged ones, and those a bounded log forgot before the
   * reader came to them (reason `truncated`). Mostly empty; each run is told once.
   */
  readonly missing: readonly Damage[];
}

/**
 * Receives entries in order, in batches (one per tick when live). A returned promise is back-pressure: the next batch waits
 * for it. A batch is empty when the log ends in lost records.
 */
export type Reader<E extends EventBody> = (batch: readonly Entry<E>[], position: Position) => void | Promise<void>;

export interface SubscribeOptions {
  /** Deliver entries with `seq` greater than this. `"live"` starts at the head. */
  readonly from: number | "live";
  readonly signal?: AbortSignal;
}

/**
 * Which sessions a list shows. A store applies it before it cuts a page, so that a page is full while there are sessions left.
 * Apart from `prefixes` and `since` it compares fields of the summary that have these names.
 */
export interface ListFilter {
  /** Only ids with one of these prefixes (`otter`), compared up to the first `-`. */
  readonly prefixes?: readonly string[];
  readonly cwd?: string;
  readonly model?: string;
  /** Created at or after, as epoch milliseconds. */
  readonly since?: number;
  readonly state?: string;
  /** Whether it had a prompt: its `turns` is not 0. */
  readonly prompted?: boolean;
  /** Whether it was torn down: its `closed` is true. */
  readonly closed?: boolean;
  readonly limit?: number;
  /** An opaque cursor from a former page. */
  readonly after?: string;
}

export interface ListOptions<S = object> extends ListFilter {
  /** Newest first by id time stamp, or by last write. @defaultValue "created" */
  readonly order?: "created" | "touched";
  /** Rows that are newer than the stored ones, by id: those of sessions in memory. The filter and the order see these. */
  readonly known?: ReadonlyMap<string, ListedSession<S>>;
  /** Called for each session that is left out because neither its summary nor its log can be read. */
  readonly onDamage?: (damage: Damage) => void;
}

/** What a store must know of summaries to keep them small, and to make one again from a log. */
export interface SummaryForm<E extends EventBody, S extends object> {
  /** A stored object as a complete, small summary, whatever program wrote it. */
  read(id: string, stored: object): S;
  /** The facts that no record says. They go into the header of every segment. */
  birth(summary: S): object;
  /** The summary of a log. `known` is its birth, and what an outdated summary says. */
  derive(id: string, known: object, entries: AsyncIterable<Entry<E>>): Promise<S>;
  /** The summary of a session that no process holds; the same object when that makes no difference. */
  unheld(summary: S): S;
}

export interface ListedSession<S> {
  readonly id: string;
  readonly summary: S;
  /** Epoch milliseconds of the last write. */
  readonly touched: number;
}

export interface ImportedLog<E extends EventBody, S> {
  readonly summary: S;
  /** In order. `at` is epoch milliseconds; null: the time of the event before it. */
  readonly events: readonly { readonly event: E; readonly at: number | null }[];
  readonly replace?: boolean;
  readonly onProgress?: (written: number) => void;
}

export interface StoreCapabilities {
  /** Survives the process. */
  readonly durable: boolean;
  /** Other processes may follow and claim the same sessions. */
  readonly crossProcess: boolean;
  /** Summaries can be rolled up without opening each session. */
  readonly rollup: boolean;
}

/** Any backend. `@chimera/event-store/conformance` proves one. */
export interface EventStore<E extends EventBody, S extends object> {
  readonly capabilities: StoreCapabilities;
  /** Creates the session with its summary and opens it for writing. StoreError `exists` when it is there. */
  create(id: string, summary: S): Promise<LogWriter<E>>;
  /** Claims an existing session for writing. StoreError `not_found`, or `claimed` with the holder. */
  open(id: string): Promise<LogWriter<E>>;
  has(id: string): Promise<boolean>;
  /** Creates `to` with the records of `from` up to `upTo`, verbatim (numbers, ids and times kept), and opens it for writing. */
  copy(from: string, to: string, options: { upTo: number; summary: S }): Promise<LogWriter<E>>;
  /**
   * Makes a session of events that happened before. It appears when all of it is on disk, or not at all. With `replace` it takes the
   * place of a session of this id, which stays as it is when this fails. StoreError `exists`, `claimed`.
   */
  importLog(id: string, log: ImportedLog<E, S>): Promise<void>;
  /** Entries with from < seq <= to, in order, in bounded memory. Damage is reported between the entries before and behind it. */
  read(
    id: string,
    range?: { from?: number; to?: number; onDamage?: (damage: Damage) => void },
  ): AsyncIterable<Entry<E>>;
  /** Replay, then live, with no gap and no duplicate. Works without the claim and, where supported, across processes. */
  subscribe(id: string, options: SubscribeOptions, reader: Reader<E>): Subscription;
  /** Per-type counts of all records with `seq` at or below the given one. */
  counts(id: string, upTo: number): Promise<TypeCounts>;
  /** The number of the last record. */
  lastSeq(id: string): Promise<number>;
  readSummary(id: string): Promise<S | null>;
  /** Atomic replace. Without `sync` it survives the process, not a crash of the machine. @defaultValue sync is true */
  writeSummary(id: string, summary: S, options?: { sync?: boolean }): Promise<void>;
  list(options?: ListOptions<S>): Promise<{ sessions: ListedSession<S>[]; next: string | null }>;
  /** Ends subscribers, removes the session. Idempotent. */
  delete(id: string): Promise<void>;
  /** Removes what killed processes left in sessions that nobody has now. How much that was. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}
