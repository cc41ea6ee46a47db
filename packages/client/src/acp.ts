/**
 * `@chimera/client/acp`: a `fetch` with which a client of ACP's remote transport survives lost connections and restarts of the server.
 * The client sees a single connection, and streams that never end.
 */
import { backoff } from "@chimera/acp-schema/timer";
import { pause } from "./pause.js";
import { serverEvents } from "./server-events.js";

export interface ResumingOptions {
  /** @defaultValue the global `fetch` */
  readonly fetch?: typeof fetch;
  /** Called before each new attempt. */
  readonly onRetry?: (retry: { readonly attempt: number; readonly waitMs: number; readonly error: unknown }) => void;
}

/**
 * @example
 * const stream = createHttpStream("http://127.0.0.1:5173/acp", { fetch: resumingFetch(), headers });
 */
export function resumingFetch(options: ResumingOptions = {}): typeof fetch {
  const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  const connections = new Map<string, Connection>();

  const retry = async (attempt: number, error: unknown, signal?: AbortSignal | null): Promise<void> => {
    const waitMs = backoff(attempt, 50, 5000, Math.random());
    options.onRetry?.({ attempt, waitMs, error });
    await pause(waitMs, signal);
  };
  /** Sends until there is a definite answer. Makes a new connection if the server has forgotten this one. */
  const persist = async (connection: Connection, init: RequestInit): Promise<Response> => {
    for (let attempt = 0; ; attempt++) {
      const { generation, id } = connection;
      let failure: unknown;
      try {
        const headers = { ...headersOf(init), [CONNECTION]: id };
        const response = await send(connection.url, { ...init, headers });
        if (response.status === 404) await renew(connection, generation);
        if (response.status !== 404 && !LATER.has(response.status)) return response;
        failure = response.status;
        await response.body?.cancel().catch(() => {});
      } catch (error) {
        if (init.signal?.aborted || connection.isEnded) throw error;
        failure = error;
      }
      await retry(attempt, failure, init.signal);
    }
  };
  const renew = (connection: Connection, generation: number): Promise<void> => {
    if (connection.generation !== generation || connection.isEnded) return Promise.resolve();
    connection.renewing ??= (async () => {
      for (let attempt = 0; !connection.isEnded; attempt++) {
        try {
          const response = await send(connection.url, connection.initialize);
          const id = response.headers.get(CONNECTION);
          await response.body?.cancel().catch(() => {});
          if (response.ok && id !== null) {
            connection.id = id;
            connection.generation++;
            return;
          }
          if (!LATER.has(response.status)) throw new Error(`initialize was answered ${response.status}`);
          await retry(attempt, response.status);
        } catch (error) {
          await retry(attempt, error);
        }
      }
    })().finally(() => {
      connection.renewing = null;
    });
    return connection.renewing;
  };

  /** After a new connection, repeats unanswered requests that are safe to repeat, and resumes the session. */
  const revive = async (connection: Connection, session: string | null, say: (text: string) => void): Promise<void> => {
    const waiting = [...connection.pending].filter(([, asked]) => asked.session === session);
    for (const [id, { init, method }] of waiting) {
      if (REPEATED.test(method)) await persist(connection, init);
      else if (connection.pending.delete(id)) say(`data: ${unknownOutcome(id)}\n\n`);
    }
    if (session === null || waiting.some(([, { method }]) => REPEATED.test(method))) return;
    const params = { mcpServers: [], ...connection.places.get(session), sessionId: session };
    const message = { jsonrpc: "2.0", id: `resume ${crypto.randomUUID()}`, method: "session/resume", params };
    const headers = { ...connection.headers, [SESSION]: session };
    await persist(connection, { method: "POST", headers, body: JSON.stringify(message) });
  };

  const follow = async (connection: Connection, init: RequestInit): Promise<Response> => {
    const headers = headersOf(init);
    const session = headers[SESSION] ?? null;
    const stop = new AbortController();
    init.signal?.addEventListener("abort", () => stop.abort(init.signal?.reason), { once: true });
    connection.following.set(session, stop);
    let last = session === null ? undefined : connection.reached.get(session);
    let { generation } = connection;
    const open = () => {
      // Record numbers stay valid for ever. Numbers of the connection's own stream are valid only for that connection.
      if (session === null && generation !== connection.generation) last = undefined;
      // Send a cursor from the first request on, because the link may break after the server began to send and before anything arrived.
      const since = last ?? (session === null ? "c0" : connection.made.has(session) ? "0" : START);
      return persist(connection, { ...init, signal: stop.signal, headers: { ...headers, "last-event-id": since } });
    };
    const first = await open();
    if (!first.ok || !first.body) return first;
    const body = writtenBy(stop, async (say, room) => {
      let response = first;
      for (let attempt = 0; ; ) {
        try {
          for await (const events of serverEvents(response, stop.signal)) {
            for (const { id, data } of events) {
              attempt = 0;
              if (id !== undefined) last = id;
              const shown = connection.incoming(data);
              if (shown !== null) say(`${id === undefined ? "" : `id: ${id}\n`}data: ${shown}\n\n`);
            }
            await room();
          }
        } catch {
          // Open the stream again below.
        }
        if (stop.signal.aborted && session !== null && last !== undefined)
          keepNewest(connection.reached.set(session, last));
        if (stop.signal.aborted || connection.isEnded) return;
        await retry(attempt++, "the stream ended", stop.signal);
        response = await open();
        if (!response.ok) throw new Error(`the stream was answered ${response.status}`);
        if (generation === connection.generation) continue;
        generation = connection.generation;
        void revive(connection, session, say).catch(() => {});
      }
    });
    return new Response(body, { status: 200, headers: first.headers });
  };

  /** Sends the first message. Tries again after a broken link, but not for long, so that a missing server is reported soon. */
  const begin = async (url: string, init: RequestInit): Promise<Response> => {
    for (let attempt = 0; ; attempt++) {
      try {
        const { status, headers, ok, body } = await send(url, init);
        const text = body && (await new Response(body).text());
        const id = headers.get(CONNECTION);
        if (ok && id !== null) connections.set(id, createConnection(url, init, id));
        return new Response(text, { status, headers });
      } catch (error) {
        if (attempt === BEGINNINGS || init.signal?.aborted) throw error;
        await retry(attempt, error, init.signal);
      }
    }
  };

  const post = async (url: string, init: RequestInit): Promise<Response> => {
    const text = String(init.body);
    const message = JSON.parse(text) as Message;
    const connection = connections.get(headersOf(init)[CONNECTION] ?? "");
    if (!connection) return begin(url, init);
    if (message.method === undefined && message.id !== undefined) {
      const id = connection.outgoing(message.id);
      // The request belongs to an earlier connection. On this one the same id may mean another request.
      if (id === undefined) return new Response(null, { status: 202 });
      return persist(connection, { ...init, body: JSON.stringify({ ...message, id }) });
    }
    const headers = { "idempotency-key": crypto.randomUUID(), ...headersOf(init) };
    const asked = { ...init, headers };
    const { method = "", params } = message;
    const session = typeof params?.sessionId === "string" ? params.sessionId : null;
    if (session !== null) connection.stay(session);
    if (message.id !== undefined) {
      connection.pending.set(JSON.stringify(message.id), { init: asked, method, session });
      if (session !== null && params?.cwd !== undefined) connection.places.set(session, params);
      if (params?.cwd !== undefined) connection.lastPlace = params;
    }
    const response = await persist(connection, asked);
    if (!response.ok) connection.pending.delete(JSON.stringify(message.id));
    return response;
  };

  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const method = (init.method ?? "GET").toUpperCase();
    if (method === "POST") return post(url, init);
    const connection = connections.get(headersOf(init)[CONNECTION] ?? "");
    if (!connection) return send(input, init);
    if (method === "GET") return follow(connection, init);
    connection.isEnded = true;
    return send(url, { ...init, headers: { ...headersOf(init), [CONNECTION]: connection.id } });
  };
}

// --- internal ---

const CONNECTION = "acp-connection-id";
const SESSION = "acp-session-id";
/** Statuses that ask to try later. */
const LATER = new Set([408, 425, 429, 500, 502, 503, 504]);
/** Requests that are safe to repeat: a prompt has an idempotency key, and the others change nothing that exists. */
const REPEATED = /^(authenticate|session\/(prompt|new|load|resume|list))$/;
/** Requests after which a client needs no stream of the session. */
const LEAVING = /^session\/(close|delete)$/;
/** How long that stream stays open, because a client could mistake its end for the failure of its request. */
const FAREWELL_MS = 1000;
/** How often the first message is repeated: for about two seconds. */
const BEGINNINGS = 5;
/** A cursor for everything of the session that was sent on this connection. */
const START = "start";
interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly sessionId?: unknown; readonly cwd?: unknown };
}

type Connection = ReturnType<typeof createConnection>;

function createConnection(url: string, initialize: RequestInit, id: string) {
  const pending = new Map<
    string,
    { readonly init: RequestInit; readonly method: string; readonly session: string | null }
  >();
  const places = new Map<string, object>();
  const leaving = new Map<string, ReturnType<typeof setTimeout>>();
  const { signal: _, ...again } = initialize;
  const connection = {
    url,
    initialize: again,
    headers: headersOf(initialize),
    /** The connection's id at the server. */
    id,
    /** How often the connection was renewed. */
    generation: 0,
    renewing: null as Promise<void> | null,
    isEnded: false,
    /** JSON of the id -> unanswered request. */
    pending,
    /** Session id -> the parameters with which it was opened. */
    places,
    lastPlace: {} as object,
    /** Sessions that were created on this connection, so that it has had all their updates. */
    made: new Set<string>(),
    /** Session id -> last record of an ended stream, after which a new stream continues. */
    reached: new Map<string, string>(),
    /** Session id -> controller that ends its stream; null for the connection's own stream. */
    following: new Map<string | null, AbortController>(),
    /** Ends the stream of a session after a moment, unless the client uses the session again. */
    leave(session: string): void {
      connection.stay(session);
      const end = () => {
        leaving.delete(session);
        connection.following.get(session)?.abort();
        connection.following.delete(session);
      };
      leaving.set(session, setTimeout(end, FAREWELL_MS));
    },
    stay(session: string): void {
      clearTimeout(leaving.get(session));
      leaving.delete(session);
    },
    /** Prepares a frame for the client; null for an answer to no request, or to one that is already answered. */
    incoming(data: string): string | null {
      const [, asked = "", kind] = HEAD.exec(data) ?? [];
      if (kind === "method" || (kind === undefined && data.includes('"$/cancel_request"')))
        return mark(data, connection.generation);
      if (kind === undefined) return data;
      const known = pending.get(asked);
      if (!known) return null;
      pending.delete(asked);
      if (known.session !== null && kind === "result" && LEAVING.test(known.method)) {
        // Keep the stream while later requests about the session wait for answers on it.
        const isWanted = [...pending.values()].some(({ session }) => session === known.session);
        if (!isWanted) connection.leave(known.session);
        if (!isWanted) places.delete(known.session);
      }
      const made = /"sessionId":"([^"]+)"/.exec(data)?.[1];
      if (made !== undefined && known.session === null) places.set(made, connection.lastPlace);
      if (made !== undefined && known.method === "session/new") keepNewest(connection.made.add(made));
      return data;
    },
    /** The server's id of a request; undefined for a request of an earlier connection. */
    outgoing(given: unknown): unknown {
      const [, generation = "0", original] = /^again (\d+) (.*)$/.exec(String(given)) ?? [];
      if (Number(generation) !== connection.generation) return undefined;
      return original === undefined ? given : JSON.parse(original);
    },
  };
  return connection;
}

/** Most ended sessions that a connection remembers. */
const MOST_SESSIONS = 1000;

function keepNewest(sessions: Set<string> | Map<string, string>): void {
  if (sessions.size > MOST_SESSIONS) sessions.delete(sessions.keys().next().value!);
}

/** Reads the head of a frame, in which our server writes the id first. */
const HEAD = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|[^,]*),"(method|result|error)"/;

/** Makes the id of a request unique across renewed connections. */
function mark(data: string, generation: number): string {
  if (generation === 0) return data;
  const message = JSON.parse(data);
  const name = (id: unknown) => `again ${generation} ${JSON.stringify(id)}`;
  if (message.id !== undefined) message.id = name(message.id);
  else message.params.requestId = name(message.params.requestId);
  return JSON.stringify(message);
}

function unknownOutcome(id: string): string {
  const message = "the connection was lost before the answer came: look before you ask again";
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":"${message}","data":{"code":"outcome_unknown"}}}`;
}

/**
 * A body that `write` says piece by piece, with a pause in `room` while the reader is slow: the server waits then too, and keeps what it has
 * not sent.
 */
function writtenBy(
  stop: AbortController,
  write: (say: (text: string) => void, room: () => Promise<void>) => Promise<void>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let onRoom = () => {};
  stop.signal.addEventListener("abort", () => onRoom(), { once: true });
  return new ReadableStream({
    start(controller) {
      const say = (text: string) => controller.enqueue(encoder.encode(text));
      const room = async () => {
        if (stop.signal.aborted || (controller.desiredSize ?? 0) > 0) return;
        await new Promise<void>((resolve) => {
          onRoom = resolve;
        });
      };
      void write(say, room)
        .then(() => controller.close())
        .catch((error) => controller.error(error));
    },
    pull: () => onRoom(),
    cancel: () => stop.abort(),
  });
}

function headersOf({ headers }: RequestInit): Record<string, string> {
  return Object.fromEntries(new Headers(headers));
}
