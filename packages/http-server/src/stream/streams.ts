/** Event streams of sessions: replay from a cursor, then live, from the log; each ends by one of a few causes, cleanly. */
import { endsTurn, isLost } from "@chimera/acp-schema/events";
import type { AttachedClient, OwnedSession, Sessions } from "@chimera/session";
import type { Context } from "hono";
import type { AppDeps, AppEnv, Caller } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { type Batch, frame } from "./frame.js";
import { type Family, outcomeOf } from "./projection.js";
import { openSink, type Sink, STREAM_HEADERS } from "./sink.js";

export interface StreamRequest {
  /** Those that the reader may see. */
  readonly sessions: Sessions;
  readonly id: string;
  readonly family: Family;
  readonly from: number | "live";
  /** When it ends: nothing runs any more, the next turn has ended, or not by itself. */
  readonly until: "end" | "turn" | "never";
  /** What the reader calls itself. */
  readonly name: string | null;
  readonly sink: Sink;
  /** The life of the token it was opened with: when that ends, so does the stream, at once. */
  readonly life: AbortSignal | undefined;
}

const NO_MEMORY = Buffer.alloc(0);

interface OpenStream {
  /** The live session it was opened on; null when it only reads a log. */
  readonly session: OwnedSession | null;
  readonly client: AttachedClient;
  /** Ends it at once. */
  cut(): void;
  /** Ends it when what is in the log has been delivered, within a moment. */
  leave(): void;
}

export type Streams = ReturnType<typeof createStreams>;

export function createStreams(log: AppDeps["log"]) {
  const open = new Map<string, Set<OpenStream>>();
  const watched = new WeakSet<OwnedSession>();
  /** Those who read a session among others, in one stream. */
  const among = new Map<string, Set<AttachedClient>>();

  /** One watch per session, however many streams come and go. */
  const watch = (session: OwnedSession) => {
    if (watched.has(session)) return;
    watched.add(session);
    void session.ended.then(() => {
      // Another process has taken the session over, and readers continue with what it writes.
      if (session.isLetGo) return;
      for (const stream of [...(open.get(session.id) ?? [])]) if (stream.session === session) stream.leave();
    });
  };
  const register = (id: string, stream: OpenStream): (() => void) => {
    const streams = open.get(id) ?? new Set();
    open.set(id, streams.add(stream));
    if (stream.session) watch(stream.session);
    return () => {
      streams.delete(stream);
      if (streams.size === 0 && open.get(id) === streams) open.delete(id);
    };
  };

  return {
    ...createPlaces(),
    /** Ends every stream of a session at once. */
    cut(id: string) {
      for (const stream of [...(open.get(id) ?? [])]) stream.cut();
    },
    /** Who reads a session. */
    clients: (id: string): AttachedClient[] => [
      ...[...(open.get(id) ?? [])].map(({ client }) => client),
      ...(among.get(id) ?? []),
    ],
    /** Counts a reader of several sessions among the clients of each; the returned function ends that. */
    attend(ids: readonly string[], name: string | null) {
      const client = { transport: "stream", name, approves: false, since: Date.now() };
      for (const id of ids) among.set(id, (among.get(id) ?? new Set()).add(client));
      return () => {
        for (const id of ids) {
          among.get(id)?.delete(client);
          if (among.get(id)?.size === 0) among.delete(id);
        }
      };
    },
    open({ sessions, id, family, from, until, name, sink, life }: StreamRequest) {
      const session = sessions.find(id) ?? null;
      const stop = new AbortController();
      const cut = () => stop.abort();
      let cursor = 0;
      let busy = false;
      let leaving: NodeJS.Timeout | undefined;
      let memory: Buffer = NO_MEMORY;
      let outcome: ReturnType<typeof outcomeOf> = null;
      /** Prompts that were seen and have not ended, of a session that is not loaded here: another process may run its turns. */
      let unended = 0;

      const unregister = register(id, {
        session,
        client: { transport: "stream", name, approves: false, since: Date.now() },
        cut,
        leave() {
          if (!busy && subscription.cursor >= (session?.lastSeq ?? 0)) cut();
          else leaving = setTimeout(cut, LIMITS.farewellMs);
        },
      });
      life?.addEventListener("abort", cut, { once: true });
      const passed = (live: boolean) => {
        busy = false;
        const atHead = live && cursor >= (sessions.find(id)?.lastSeq ?? 0);
        if (leaving && atHead) return cut();
        if (!outcome || until === "never") return;
        if (until === "end" && (!atHead || isBusy(sessions, id, unended))) return;
        void sink.write(Buffer.from(frame(null, "end", JSON.stringify({ session_id: id, ...outcome }))));
        cut();
      };
      /** Streams that keep up are given the same bytes; one that is behind has memory of its own, the same for every batch. */
      const deliver = (batch: Batch, live: boolean): void | Promise<void> => {
        if (live) {
          memory = NO_MEMORY;
          return sink.write(family.encoder.shared(batch));
        }
        const bytes = family.encoder.into(memory, batch);
        if (bytes.length > memory.length) memory = bytes;
        return sink.writeLent(bytes);
      };
      const subscription = sessions.logs.follow(id, { from, signal: stop.signal }, (records, { live }) => {
        const batch = until === "turn" ? upToTurnEnd(records) : records;
        const last = batch[batch.length - 1]!;
        cursor = isLost(last) ? last.last : last.seq;
        const here = sessions.find(id);
        outcome = outcomeOf(batch, here) ?? outcome;
        if (until === "end" && !here) unended = countUnended(batch, unended);
        const behind = deliver(batch, live);
        if (!behind) return passed(live);
        busy = true;
        return behind.then(() => passed(live));
      });

      void sink.gone.then(cut);
      void subscription.ended
        // The peer sees its stream end, and may come back; the reason goes to the log.
        .catch((error: unknown) => log?.("stream failed", { session: id, error: String(error) }))
        .finally(() => {
          clearTimeout(leaving);
          life?.removeEventListener("abort", cut);
          unregister();
          sink.end();
        });
    },
  };
}

// --- internal ---

/** The places of answers that last: bounded for the process, and for each caller. */
function createPlaces() {
  let lasting = 0;
  /**
   * Takes a place among the answers that last, and among those of the caller; the returned function gives both back. Throws 503
   * `too_many_streams`, and `limit_reached`.
   */
  const enter = async ({ quota, logs, find }: Sessions, caller: Caller): Promise<() => void> => {
    // The holder of a session's token uses the limits of the session's owner.
    const id = caller.kind === "session" ? caller.session : null;
    const owner = id === null ? undefined : (find(id) ?? (await logs.readSummary(id).catch(() => null)))?.owner;
    if (lasting >= LIMITS.streams)
      throw new HttpError(
        503,
        "too_many_streams",
        `${LIMITS.streams} event streams are open, which is the most: close some, or try again in a moment`,
      );
    const leave = quota.requireStream(owner ?? undefined);
    lasting++;
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      lasting--;
      leave();
    };
  };
  return {
    enter,
    /**
     * Begins an answer that lasts, in a place that it gives back when its peer has gone, and lets `write` fill it. HEAD is answered with
     * the headers alone. Throws what `enter` throws.
     */
    async begin(c: Context<AppEnv>, sessions: Sessions, write: (sink: Sink) => void): Promise<Response> {
      if (c.req.method === "HEAD") return c.body(null, 200, STREAM_HEADERS);
      const leave = await enter(sessions, c.get("caller"));
      const sink = openSink(c);
      void sink.gone.then(leave);
      write(sink);
      return sink.response;
    },
    /** How many answers last now. */
    count: () => lasting,
  };
}

/** Cuts a batch after the last record of a turn, where the stream ends. */
function upToTurnEnd(batch: Batch): Batch {
  const end = batch.findIndex((entry) => !isLost(entry) && endsTurn(entry.type));
  return end < 0 ? batch : batch.slice(0, end + 1);
}

function isBusy(sessions: Sessions, id: string, unended: number): boolean {
  const session = sessions.find(id);
  return session ? session.state !== "idle" : unended > 0;
}

function countUnended(batch: Batch, before: number): number {
  let count = before;
  for (const entry of batch) {
    if (entry.type === "user_message") count += 1;
    else if (endsTurn(entry.type)) count = Math.max(0, count - 1);
    // What is lost may have been the end of any turn.
    else if (isLost(entry)) count = 0;
  }
  return count;
}
