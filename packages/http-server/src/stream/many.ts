/** One stream for several sessions, and for changes of the list: a browser has few connections, and a page shows many sessions. */
import { isLost } from "@chimera/acp-schema/events";
import { changesSummary, type OwnedSession, type Sessions } from "@chimera/session";
import type { AppDeps } from "../deps.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { rowOf } from "../session-list.js";
import { type Batch, frame } from "./frame.js";
import { lineOf } from "./projection.js";
import type { Sink } from "./sink.js";

/** Session id -> the number of the last record that the reader has. */
export type Cursors = ReadonlyMap<string, number>;

/** `asked` are ids, or `id:seq`; `resumed` is a composite id of this stream, which knows better. Throws `invalid_query`. */
export function parseCursors(asked: readonly string[], resumed: string | undefined): Cursors {
  const cursors = new Map<string, number>();
  for (const one of asked) cursors.set(...parseCursor(one));
  for (const one of resumed?.split(",") ?? []) {
    const [id, seq] = parseCursor(one);
    if (cursors.has(id)) cursors.set(id, seq);
  }
  if (cursors.size <= LIMITS.streamedSessions) return cursors;
  throw new HttpError(400, "invalid_query", `session: one stream has at most ${LIMITS.streamedSessions} sessions`);
}

export interface ManyRequest {
  readonly cursors: Cursors;
  /** Whether changes of the list are sent. */
  readonly list: boolean;
  readonly sink: Sink;
  /** The life of the token it was opened with. */
  readonly life: AbortSignal | undefined;
}

export function openMany(sessions: Sessions, log: AppDeps["log"], { cursors, list, sink, life }: ManyRequest): void {
  const stop = new AbortController();
  const { signal } = stop;
  const send = inTurn(sink);
  const reached = new Map(cursors);
  const compositeId = () => [...reached].map(([id, seq]) => `${id}:${seq}`).join(",");
  const fail = (error: unknown) => {
    log?.("stream failed", { error: String(error) });
    stop.abort();
  };

  /** The id comes with the last record of a batch: it names every session, and a reader passes over what it has. */
  const deliver = async (id: string, batch: Batch) => {
    const last = batch.at(-1)!;
    reached.set(id, isLost(last) ? last.last : last.seq);
    const texts = batch.map((entry) => `{"session_id":${JSON.stringify(id)},"record":${lineOf(entry)}}`);
    const frames = texts.map((data, at) => frame(at === texts.length - 1 ? compositeId() : null, "record", data));
    await send(frames.join(""));
  };
  const followed = [...cursors].map(([id, from]) => {
    const subscription = sessions.logs.follow(id, { from }, (batch) => deliver(id, batch));
    subscription.ended.catch(fail);
    return subscription;
  });
  const sendRow = (id: string, session: OwnedSession | null, row = session && liveRow(session)) =>
    send(frame(null, "row", JSON.stringify({ session_id: id, row })));
  const unwatch = list ? watchRows(sessions, signal, sendRow, fail) : () => {};

  const keepAlive = setInterval(() => void send(": keep-alive\n\n"), LIMITS.keepAliveMs);
  const cut = () => stop.abort();
  void sink.gone.then(cut);
  life?.addEventListener("abort", cut, { once: true, signal });
  signal.addEventListener("abort", () => {
    clearInterval(keepAlive);
    for (const subscription of followed) subscription.close();
    unwatch();
    sink.end();
  });
  // A reader sees at once that it is connected.
  void send(": connected\n\n");
}

// --- internal ---

type SendRow = (id: string, session: OwnedSession | null, row?: ReturnType<typeof rowOf> | null) => Promise<void>;

/** Sends the row of a session whenever a record changes it, and when the session is loaded, unloaded or deleted. */
function watchRows(sessions: Sessions, signal: AbortSignal, send: SendRow, fail: (error: unknown) => void): () => void {
  const ends = new Set<() => void>();
  const watch = (session: OwnedSession) => {
    const { id, lastSeq } = session;
    const { ended, close } = sessions.logs.follow(id, { from: lastSeq, sleeps: "let go" }, async (batch) => {
      if (batch.some((entry) => isLost(entry) || changesSummary(entry.event))) await send(id, session);
    });
    ends.add(close);
    ended.catch(fail);
    void session.ended.then(async () => {
      ends.delete(close);
      close();
      const summary = await sessions.logs.readSummary(id).catch(() => null);
      if (signal.aborted || sessions.find(id) || !summary || summary.closed) return;
      await send(id, null, rowOf(summary, session.touchedAt, null));
    });
  };
  for (const session of sessions.live()) watch(session);
  ends.add(
    sessions.onLoad((session) => {
      watch(session);
      void send(session.id, session);
    }),
  );
  ends.add(sessions.onRemove((id) => void send(id, null, null)));
  return () => {
    for (const end of ends) end();
  };
}

function liveRow(session: OwnedSession) {
  return rowOf(session.summary(), session.touchedAt, session);
}

/** Writes that wait for a slow peer must not be written between. */
function inTurn(sink: Sink): (text: string) => Promise<void> {
  let last: Promise<void> | void;
  return async (text) => {
    const before = last;
    const mine = before ? before.then(() => sink.write(Buffer.from(text))) : sink.write(Buffer.from(text));
    const settled = mine?.then(() => {
      if (last === settled) last = undefined;
    });
    last = settled;
    await settled;
  };
}

function parseCursor(text: string): [string, number] {
  const [, id = "", seq = "0"] = /^([^:,]+)(?::(\d{1,15}))?$/.exec(text.trim()) ?? [];
  if (id === "") throw new HttpError(400, "invalid_query", "session: an id, or an id and a number as id:42");
  return [id, Number(seq)];
}
