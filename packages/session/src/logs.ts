/** Reads logs by session id, in the same way whether the session is loaded, stored or held by another process. */
import { type Conversation, createJoin, foldConversation, type JoinedRecord } from "@chimera/acp-schema/conversation";
import { isLost, type Lost, type SessionEvent, type SessionRecord } from "@chimera/acp-schema/events";
import { withResolvers } from "@chimera/acp-schema/promises";
import type { Summary } from "@chimera/acp-schema/summary";
import type { EventStore, Reader, SubscribeOptions, Subscription } from "@chimera/event-store";
import type { Loaded } from "./loaded.js";
import type { ReadableSession } from "./session.js";

type Store = EventStore<SessionEvent, Summary>;

export interface SessionLogs extends Pick<Store, "read" | "has" | "lastSeq" | "readSummary"> {
  /** Replays from a cursor, then delivers new records. */
  follow(id: string, options: FollowOptions, reader: Reader<SessionEvent>): Subscription;
}

export interface FollowOptions extends SubscribeOptions {
  /**
   * Does not watch the log while the session is `unloaded`, or also while it is `let go`. For readers that need only the records that this
   * process writes. @defaultValue it always watches
   */
  readonly sleeps?: "unloaded" | "let go" | undefined;
}

/** @param memory the store of sessions that are not persistent */
export function createLogs(store: Store, memory: Store, loaded: Pick<Loaded, "find" | "watch">): SessionLogs {
  const of = (id: string) => (loaded.find(id)?.persistent === false ? memory : store);
  return {
    read: (id, range) => of(id).read(id, range),
    has: (id) => of(id).has(id),
    lastSeq: (id) => of(id).lastSeq(id),
    readSummary: (id) => of(id).readSummary(id),
    follow: (id, { sleeps, ...options }, reader) =>
      sleeps ? followLoaded(of(id), id, { sleeps, ...options }, reader, loaded) : of(id).subscribe(id, options, reader),
  };
}

/**
 * Folds a log to its end, or up to the first record for which `until` is true. `take` gets each entry that is folded.
 *
 * @example
 * const { turns } = await foldLog(sessions.logs, session.id, { keep: "state" });
 */
export async function foldLog(
  store: Pick<Store, "read">,
  id: string,
  options: {
    readonly keep?: "state" | "model";
    readonly take?: (entry: SessionRecord | Lost) => void;
    readonly until?: (record: SessionRecord) => boolean;
  } = {},
): Promise<Conversation> {
  const conversation = foldConversation(options.keep ? { keep: options.keep } : {});
  for await (const entry of store.read(id)) {
    const event = isLost(entry) ? entry : entry.event;
    conversation.apply(event);
    options.take?.(event);
    if (!isLost(event) && options.until?.(event)) break;
  }
  return conversation;
}

/** Collects the records of a log while it is folded, with their deltas joined, so that `session/load` need not read the log twice. */
export function createCollected() {
  let join = createJoin();
  let items: (JoinedRecord | Lost)[] = [];
  let seq = 0;
  let chars = 0;
  return {
    take(entry: SessionRecord | Lost) {
      if (chars > MOST_CHARS) return;
      seq = isLost(entry) ? entry.last : entry.seq;
      const complete = join.push(entry);
      items.push(...complete);
      for (const item of complete) if (!isLost(item)) chars += sizeOf(item.metadata);
      if (chars <= MOST_CHARS) return;
      // Too much for memory: forget it, and read the log again when the conversation is shown.
      join = createJoin();
      items = [];
      seq = 0;
    },
    /** The visible conversation up to the last record. Reads the records that were not collected. */
    visible(logs: SessionLogs, { id, conversation, lastSeq }: ReadableSession) {
      const hidden = conversation.hidden();
      const isVisible = (item: SessionRecord | Lost) => isLost(item) || item.turn === null || !hidden.has(item.turn);
      return (async function* () {
        yield* items.filter(isVisible);
        for await (const entry of logs.read(id, { from: seq, to: lastSeq }))
          yield* join.push(isLost(entry) ? entry : entry.event).filter(isVisible);
        yield* join.end().filter(isVisible);
      })();
    },
  };
}

// --- internal ---

/** Follows a log while its session is loaded or another process has taken it over, and sleeps otherwise. */
function followLoaded(
  store: Store,
  id: string,
  { from, signal, sleeps }: FollowOptions,
  reader: Reader<SessionEvent>,
  loaded: Pick<Loaded, "find" | "watch">,
): Subscription {
  let inner: Subscription | null = null;
  let cursor = from;
  /** The last record that this process wrote before it unloaded the session. Null while the session is loaded. */
  let last: number | null = null;
  const { promise: ended, resolve, reject } = withResolvers();
  const end = (failure?: unknown) => (failure === undefined ? resolve() : reject(failure));
  /** Sleeps once the reader has every record up to `last`. */
  const sleep = () => {
    if (last === null || !inner || inner.cursor < last) return;
    cursor = inner.cursor;
    const sleeping = inner;
    inner = null;
    sleeping.close();
  };
  const wake = () => {
    const awake = store.subscribe(id, { from: cursor, ...(signal && { signal }) }, async (batch, position) => {
      await reader(batch, position);
      // The cursor moves only when this returns.
      if (last !== null) setImmediate(sleep);
    });
    inner = awake;
    awake.ended.then(
      () => inner === awake && end(),
      (error) => inner === awake && end(error),
    );
  };
  const unwatch = loaded.watch(id, {
    loaded() {
      last = null;
      if (!inner) wake();
    },
    letGo(lastSeq) {
      if (sleeps !== "let go") return;
      last = lastSeq;
      sleep();
    },
    unloaded(lastSeq) {
      last = lastSeq;
      sleep();
    },
  });
  const leave = () => end();
  signal?.addEventListener("abort", leave, { once: true });
  const release = () => {
    unwatch();
    signal?.removeEventListener("abort", leave);
  };
  wake();
  void ended.then(release, release);
  return {
    get cursor() {
      return inner?.cursor ?? (cursor === "live" ? 0 : cursor);
    },
    ended,
    close() {
      inner?.close();
      end();
    },
  };
}

const MOST_CHARS = 32 * 1024 * 1024;

/** About the size of a record in memory: its texts count by length, every other field as a little. */
function sizeOf(metadata: object): number {
  let size = 64;
  for (const value of Object.values(metadata)) size += typeof value === "string" ? value.length : 64;
  return size;
}
