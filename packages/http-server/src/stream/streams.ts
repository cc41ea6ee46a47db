/** Event streams of sessions, read from the log: first a replay from a cursor, then live records. */
import { endsTurn, isLost } from "@chimera/acp-schema/events";
import type { AttachedClient, OwnedSession, Sessions } from "@chimera/session";
import type { Context } from "hono";
import type { AppDeps, AppEnv, Caller } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { type Batch, frame } from "./frame.js";
import { type Family, type Outcome, outcomeOf } from "./projection.js";
import { openSink, type Sink, STREAM_HEADERS, stopOf } from "./sink.js";

export interface StreamRequest {
  /** The sessions that the reader may see. */
  readonly sessions: Sessions;
  readonly id: string;
  readonly family: Family;
  readonly from: number | "live";
  readonly until: Until;
  /** The name of the reader's program. */
  readonly name: string | null;
  readonly sink: Sink;
  /** Aborting it ends the stream at once. */
  readonly stop: AbortController;
}

/** When a stream ends: when all turns have ended, when the next turn has ended, or never by itself. */
type Until = "end" | "turn" | "never";

export type Streams = ReturnType<typeof createStreams>;

export function createStreams(log: AppDeps["log"]) {
  const open = createOpenStreams();
  /** The readers of each session, also those of streams of several sessions. */
  const readers = new Map<string, Set<AttachedClient>>();
  /** Lists the reader of a stream among the clients of these sessions, until the returned function is called. */
  const attend = (ids: readonly string[], name: string | null) => {
    const client = { transport: "stream", name, approves: false, since: Date.now() };
    const leaves = ids.map((id) => addTo(readers, id, client));
    return () => {
      for (const leave of leaves) leave();
    };
  };
  return {
    ...createLongAnswers(),
    attend,
    /** The readers of a session. */
    clients: (id: string): AttachedClient[] => [...(readers.get(id) ?? [])],
    /** Ends every stream of a session at once. */
    cut: open.cut,
    open(request: StreamRequest) {
      const { sessions, id, family, from, name, sink, stop } = request;
      const cut = () => stop.abort();
      const deliver = createDelivery(family, sink);
      const goal = createGoal(request);
      let cursor = 0;
      let isBehind = false;
      let leaving: NodeJS.Timeout | undefined;
      const session = sessions.find(id) ?? null;
      const leaves = [
        attend([id], name),
        open.add(id, {
          session,
          cut,
          leave() {
            if (!isBehind && subscription.cursor >= (session?.lastSeq ?? 0)) cut();
            else leaving = setTimeout(cut, LIMITS.farewellMs);
          },
        }),
      ];
      const passed = (live: boolean) => {
        isBehind = false;
        const atHead = live && cursor >= (sessions.find(id)?.lastSeq ?? 0);
        if (leaving && atHead) return cut();
        const outcome = goal.reached(atHead);
        if (!outcome) return;
        void sink.write(Buffer.from(frame(null, "end", JSON.stringify({ session_id: id, ...outcome }))));
        cut();
      };
      const subscription = sessions.logs.follow(id, { from, signal: stop.signal }, (records, { live }) => {
        const batch = goal.take(records);
        const last = batch[batch.length - 1]!;
        cursor = isLost(last) ? last.last : last.seq;
        const behind = deliver(batch, live);
        if (!behind) return passed(live);
        isBehind = true;
        return behind.then(() => passed(live));
      });
      void subscription.ended
        // The peer only sees that its stream ends, and may open it again. The reason goes to the log.
        .catch((error: unknown) => log?.("stream failed", { session: id, error: String(error) }))
        .finally(() => {
          clearTimeout(leaving);
          for (const leave of leaves) leave();
          sink.end();
        });
    },
  };
}

// --- internal ---

interface OpenStream {
  /** The session, if it was loaded when the stream began. */
  readonly session: OwnedSession | null;
  /** Ends the stream at once. */
  cut(): void;
  /** Ends the stream when all records are delivered, or after a short time limit. */
  leave(): void;
}

/** The streams of one session each. They end with their session. */
function createOpenStreams() {
  const open = new Map<string, Set<OpenStream>>();
  const watched = new WeakSet<OwnedSession>();
  const of = (id: string) => [...(open.get(id) ?? [])];
  /** Watches each session once for all its streams. */
  const watch = (session: OwnedSession) => {
    if (watched.has(session)) return;
    watched.add(session);
    void session.ended.then(() => {
      // The session was released for another process. The streams stay open and deliver the records that it writes.
      if (session.isLetGo) return;
      for (const stream of of(session.id)) if (stream.session === session) stream.leave();
    });
  };
  return {
    add(id: string, stream: OpenStream): () => void {
      if (stream.session) watch(stream.session);
      return addTo(open, id, stream);
    },
    cut(id: string) {
      for (const stream of of(id)) stream.cut();
    },
  };
}

/** Adds to the set under a key. The returned function removes it again, and the set when it is empty. */
function addTo<T>(sets: Map<string, Set<T>>, key: string, one: T): () => void {
  const set = sets.get(key) ?? new Set<T>();
  sets.set(key, set.add(one));
  return () => {
    set.delete(one);
    if (set.size === 0 && sets.get(key) === set) sets.delete(key);
  };
}

const NO_MEMORY = Buffer.alloc(0);

/** Streams that keep up share the encoded bytes. A stream that fell behind encodes into a buffer of its own, which it reuses. */
function createDelivery({ encoder }: Family, sink: Sink) {
  let memory: Buffer = NO_MEMORY;
  return (batch: Batch, live: boolean): void | Promise<void> => {
    if (live) {
      memory = NO_MEMORY;
      return sink.write(encoder.shared(batch));
    }
    const bytes = encoder.into(memory, batch);
    if (bytes.length > memory.length) memory = bytes;
    return sink.writeLent(bytes);
  };
}

/** Decides when a stream has delivered what its reader waits for. */
function createGoal({ sessions, id, until }: Pick<StreamRequest, "sessions" | "id" | "until">) {
  let outcome: Outcome | null = null;
  /** Delivered prompts whose turn has not ended. Used if the session is not loaded here, because another process may run its turns. */
  let unended = 0;
  const isBusy = () => {
    const session = sessions.find(id);
    return session ? session.state !== "idle" : unended > 0;
  };
  return {
    /** Takes the next records. Returns those to show: a stream of one turn ends with the last record of the turn. */
    take(records: Batch): Batch {
      const batch = until === "turn" ? upToTurnEnd(records) : records;
      const here = sessions.find(id);
      outcome = outcomeOf(batch, here) ?? outcome;
      if (until === "end" && !here) unended = countUnended(batch, unended);
      return batch;
    },
    /** How the last turn ended. Null until the reader has all that it waits for. */
    reached(atHead: boolean): Outcome | null {
      if (until === "never" || (until === "end" && (!atHead || isBusy()))) return null;
      return outcome;
    },
  };
}

/** Limits the long answers (streams, awaited runs) of the process and of each caller. */
function createLongAnswers() {
  let count = 0;
  /**
   * Counts a long answer until the returned function is called. Throws 503 `too_many_streams`, and `limit_reached` at a limit of the
   * caller.
   */
  const enter = async ({ quota, logs, find }: Sessions, caller: Caller): Promise<() => void> => {
    // The holder of a session's token counts against the limits of the session's owner.
    const id = caller.kind === "session" ? caller.session : null;
    const owner = id === null ? undefined : (find(id) ?? (await logs.readSummary(id).catch(() => null)))?.owner;
    if (count >= LIMITS.streams)
      throw new HttpError(
        503,
        "too_many_streams",
        `${LIMITS.streams} event streams are open, which is the limit: close some, or try again in a moment`,
      );
    const leave = quota.requireStream(owner ?? undefined);
    count++;
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      count--;
      leave();
    };
  };
  return {
    enter,
    /**
     * Begins an event stream, which `write` fills until `stop` aborts. It counts as a long answer until its peer has gone. HEAD gets the
     * headers alone. Throws what `enter` throws.
     */
    async begin(
      c: Context<AppEnv>,
      sessions: Sessions,
      write: (sink: Sink, stop: AbortController) => void,
    ): Promise<Response> {
      if (c.req.method === "HEAD") return c.body(null, 200, STREAM_HEADERS);
      const leave = await enter(sessions, c.get("caller"));
      const sink = openSink(c);
      void sink.gone.then(leave);
      write(sink, stopOf(c, sink));
      return sink.response;
    },
    /** The number of long answers in progress. */
    count: () => count,
  };
}

/** The batch up to the first record that ends a turn. */
function upToTurnEnd(batch: Batch): Batch {
  const end = batch.findIndex((entry) => !isLost(entry) && endsTurn(entry.type));
  return end < 0 ? batch : batch.slice(0, end + 1);
}

function countUnended(batch: Batch, before: number): number {
  let count = before;
  for (const entry of batch) {
    if (entry.type === "user_message") count += 1;
    else if (endsTurn(entry.type)) count = Math.max(0, count - 1);
    // The lost records may have ended any turn.
    else if (isLost(entry)) count = 0;
  }
  return count;
}
