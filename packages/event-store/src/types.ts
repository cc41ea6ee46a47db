/** The store contract: one append-only, numbered log per session. An event is any JSON object with a `type`. */

/** An event as a caller appends it. The store adds `seq`, `id` and `ts`. */
export interface EventBody {
  readonly type: string;
}

/** An event with the number, id and time that the log gave it. */
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

/** An entry that this process appended. */
export interface Appended<E extends EventBody> extends Entry<E> {
  /** The event as it was given, but with U+FFFD for each half of a surrogate pair. */
  readonly body: E;
}

/** Takes the place of consecutive records that cannot be given back, so that numbers never shift. No log stores one. */
export interface Lost {
  readonly type: "lost";
  /** The number of the first lost record. */
  readonly seq: number;
  readonly last: number;
  /** `damaged`: unreadable where they were written. `missing`: their file is gone. `truncated`: a bounded log forgot them. */
  readonly reason: "damaged" | "missing" | "truncated";
}

/** An entry that a reader of a log receives: a record, or a {@link Lost}. Only the latter has a `last`. */
export type LogEntry<E extends EventBody> = Entry<E> | Lost;

/** What waits for the disk. `turn`: acknowledgements. `event`: acknowledgements and deliveries to readers. `none`: nothing. */
export type Durability = "turn" | "event" | "none";

/** The single writer of one session. Once another process has taken over, every call fails with `fenced`. */
export interface LogWriter<E extends EventBody> {
  readonly id: string;
  /** A mark of this log: another log in its place under the same id (an import) has another mark. Opening a log again does not change it. */
  origin(): string;
  /** The last number handed out; 0 for an empty log. */
  readonly lastSeq: number;
  /** Aborted once this process finds that another has taken over, so that work for this session stops before it touches a file. */
  readonly lost: AbortSignal;
  /** Throws `fenced` when another process has taken over. Call it before you change anything besides the log. */
  requireHeld(): void;
  /**
   * Numbers the events at once and queues them for the write at the end of this tick; readers get them after that. Half of a surrogate
   * pair in a text or name is recorded as U+FFFD. Returns the entries. Throws StoreError `fenced`, `closed`, or the error of an earlier failed write (`storage_full`, `io`) until one succeeds.
   */
  append(events: readonly E[]): readonly Appended<E>[];
  /** Resolves when everything up to `seq` (default: all appended) is written, and so survives the process. */
  written(seq?: number): Promise<void>;
  /** Resolves when everything up to `seq` is on disk, and so survives the machine. At durability `none`: when written. */
  durable(seq?: number): Promise<void>;
  /**
   * Null while there is room for more. When a megabyte waits for a slow disk or database, resolves once readers can have it:
   * a caller that appends a stream waits for it. Rejects as `written` does: the numbers of what failed are given out again.
   */
  room(): Promise<void> | null;
  /** Writes what is queued and releases the claim. The session can be opened again, here or elsewhere. */
  close(): Promise<void>;
}

/** A reader's place in a log. A reader gets live entries while it keeps up; when it fell behind, the store reads the log for it. */
export interface Subscription {
  /** The last number delivered. */
  readonly cursor: number;
  /** Resolves when the subscription has ended: closed, session deleted, or store closed. Rejects on a read error. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Where in the log a batch ends. */
export interface Position {
  /** True when the batch reached the head of the log. */
  readonly live: boolean;
}

/** Receives entries in order, in batches. If it returns a promise, the next batch waits for it. */
export type Reader<E extends EventBody> = (batch: readonly LogEntry<E>[], position: Position) => void | Promise<void>;

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
  /** Whether the session had a prompt: its `turns` is not 0. */
  readonly prompted?: boolean;
  /** Only sessions that this person may see: the `owner` is their name, or `shared` is true. */
  readonly visibleTo?: string;
  /** The sender's name for the request that made the session: its `key`. */
  readonly key?: string;
  /** Whether the session was torn down: its `closed` is true. */
  readonly closed?: boolean;
  readonly limit?: number;
  /** An opaque cursor from a former page. */
  readonly after?: string;
}

export interface ListOptions<S = object> extends ListFilter {
  /** Newest first by id time stamp, or by last write. @defaultValue "created" */
  readonly order?: "created" | "touched";
  /** Rows of sessions in memory, by id. They replace the stored rows, which are older, also for the filter and the order. */
  readonly known?: ReadonlyMap<string, ListedSession<S>>;
  /** Called with each session that is left out because neither its summary nor its log can be read. */
  readonly onUnreadable?: (id: string) => void;
}

/** Everything that a store must know about summaries to keep them small, and to make a lost one again from its log. */
export interface SummaryForm<E extends EventBody, S extends object> {
  /** Turns a stored object, whatever program wrote it, into a complete, small summary. */
  read(id: string, stored: object): S;
  /** Whether a stored summary lacks facts that the log has. A list shows it all the same; `readSummary` makes it again from the log. */
  isOutdated(stored: object): boolean;
  /** The facts of a session that are in no record. The store writes them into the header of every segment. */
  birth(summary: S): object;
  /** Makes the summary of a log. `known` holds the session's birth and the fields of an outdated summary. */
  derive(id: string, known: object, entries: AsyncIterable<LogEntry<E>>): Promise<S>;
  /** The summary to show while no process holds the session; the same object when that makes no difference. */
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
  /** In order. `at` is in epoch milliseconds; null means the time of the event before it. @defaultValue none */
  readonly events?: readonly { readonly event: E; readonly at: number | null }[];
  /** Instead of `events`: the records of another log, with their numbers, ids and times. Records lost there stay a gap. */
  readonly records?: AsyncIterable<LogEntry<E>>;
  readonly replace?: boolean;
  readonly onProgress?: (written: number) => void;
}

/** A store of logs. The cases of `@chimera/event-store/conformance` test one. */
export interface EventStore<E extends EventBody, S extends object> {
  /**
   * Creates the session with its summary and opens it for writing. StoreError `exists` when there is one with this id. In a store that
   * several machines share, `key_taken` when the same program has made one in the last day for the same `owner` and `key`, by a request
   * that the summary names too (`request`).
   */
  create(id: string, summary: S): Promise<LogWriter<E>>;
  /** Claims an existing session for writing. StoreError `not_found`, or `claimed` with the holder. */
  open(id: string): Promise<LogWriter<E>>;
  has(id: string): Promise<boolean>;
  /**
   * Creates `to` with the records of `from` up to `upTo`, verbatim (numbers, ids and times kept), and opens it for writing. The
   * `added` events follow them in the same step: no reader sees the copy without them.
   */
  copy(from: string, to: string, options: { upTo: number; summary: S; added?: readonly E[] }): Promise<LogWriter<E>>;
  /**
   * Makes a session of past events. It appears when all of it is on disk, or not at all. With `replace` it takes the place of a
   * session with this id, which stays unchanged when this fails. StoreError `exists`, `claimed`.
   */
  importLog(id: string, log: ImportedLog<E, S>): Promise<void>;
  /** Entries with from < seq <= to, in order, in bounded memory. */
  read(id: string, range?: { from?: number; to?: number }): AsyncIterable<LogEntry<E>>;
  /** Delivers the replay, then live entries, with no gap and no duplicate. Works without the claim and, where supported, across processes. */
  subscribe(id: string, options: SubscribeOptions, reader: Reader<E>): Subscription;
  /** The number of the last record. */
  lastSeq(id: string): Promise<number>;
  readSummary(id: string): Promise<S | null>;
  /** Replaces the summary atomically. Without `sync` it survives the process, not a crash of the machine. @defaultValue sync is true */
  writeSummary(id: string, summary: S, options?: { sync?: boolean }): Promise<void>;
  list(options?: ListOptions<S>): Promise<{ sessions: ListedSession<S>[]; next: string | null }>;
  /** Ends the session's subscribers and removes it. Idempotent. */
  delete(id: string): Promise<void>;
  /** Removes what killed processes left in sessions that no process holds now. Returns how many leftovers it removed, or would. */
  sweep(options?: { dryRun?: boolean }): Promise<number>;
  close(): Promise<void>;
}
