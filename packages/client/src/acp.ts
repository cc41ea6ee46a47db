/**
 * `@chimera/client/acp`: a `fetch` under which a client of ACP's remote transport outlives lost connections and restarts of the server. The
 * client sees one connection and streams that never end.
 */
import { backoff, pause } from "./pause.js";
import { serverEvents } from "./server-events.js";

export interface ResumingOptions {
  /** @defaultValue the global one */
  readonly fetch?: typeof fetch;
  /** Called before something is tried again. */
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
    const waitMs = backoff(attempt, 50);
    options.onRetry?.({ attempt, waitMs, error });
    await pause(waitMs, signal);
  };
  /** Until there is an answer that means something. A connection that the server does not know any more is made again. */
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

  /** On a new connection: what was asked and not answered is asked again where that does no harm, and the session is opened. */
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
      // Numbers of records hold for ever, those of the other stream for their connection.
      if (session === null && generation !== connection.generation) last = undefined;
      // From the first time on: the link may break after the server has begun to send and before anything has come.
      const since = last ?? (session === null ? "c0" : connection.made.has(session) ? "0" : START);
      return persist(connection, { ...init, signal: stop.signal, headers: { ...headers, "last-event-id": since } });
    };
    const first = await open();
    if (!first.ok || !first.body) return first;
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        const say = (text: string) => controller.enqueue(encoder.encode(text));
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
            }
          } catch {
            // The stream is opened again.
          }
          if (stop.signal.aborted && session !== null && last !== undefined)
            keepNewest(connection.reached.set(session, last));
          if (stop.signal.aborted || connection.isEnded) return controller.close();
          try {
            await retry(attempt++, "the stream ended", stop.signal);
            response = await open();
          } catch (error) {
            return controller.error(error);
          }
          if (!response.ok) return controller.error(new Error(`the stream was answered ${response.status}`));
          if (generation === connection.generation) continue;
          generation = connection.generation;
          void revive(connection, session, say).catch(() => {});
        }
      },
      cancel: () => stop.abort(),
    });
    return new Response(body, { status: 200, headers: first.headers });
  };

  /** The first message. A server that is not there is said to be so soon; a link that breaks is tried again. */
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
      // A question of a connection that is gone: what asks by the same number now is another one.
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
/** Statuses that say: later. */
const LATER = new Set([408, 425, 429, 500, 502, 503, 504]);
/** What may be asked twice: a prompt carries a key, and the rest changes nothing that was there. */
const REPEATED = /^(authenticate|session\/(prompt|new|load|resume|list))$/;
/** What a client needs no stream of a session after. */
const LEAVING = /^session\/(close|delete)$/;
/** How long that stream stays: a client may take its end for that of what it asked. */
const FAREWELL_MS = 1000;
/** How often the first message is sent again: for about two seconds. */
const BEGINNINGS = 5;
/** In place of a number: everything that the connection was sent of the session. */
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
    /** As the server knows it. */
    id,
    /** How often it was made again. */
    generation: 0,
    renewing: null as Promise<void> | null,
    isEnded: false,
    /** Asked and not answered, by the JSON of their ids. */
    pending,
    /** What sessions were opened with. */
    places,
    lastPlace: {} as object,
    /** Sessions that began on it: nothing of them came before. */
    made: new Set<string>(),
    /** The last record that came of a session whose stream has ended: a stream that it has again goes on after it. */
    reached: new Map<string, string>(),
    /** Ends the stream of a session, or with null that of the rest. */
    following: new Map<string | null, AbortController>(),
    /** Ends the stream of a session in a moment, unless the client turns to the session again. */
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
    /** A frame as the client may see it; null for an answer that it did not ask for, or has. */
    incoming(data: string): string | null {
      const [, asked = "", kind] = HEAD.exec(data) ?? [];
      if (kind === "method" || (kind === undefined && data.includes('"$/cancel_request"')))
        return mark(data, connection.generation);
      if (kind === undefined) return data;
      const known = pending.get(asked);
      if (!known) return null;
      pending.delete(asked);
      if (known.session !== null && kind === "result" && LEAVING.test(known.method)) {
        // What was asked of the session after that is answered on the same stream.
        const isWanted = [...pending.values()].some(({ session }) => session === known.session);
        if (!isWanted) connection.leave(known.session);
        if (!isWanted) places.delete(known.session);
      }
      const made = /"sessionId":"([^"]+)"/.exec(data)?.[1];
      if (made !== undefined && known.session === null) places.set(made, connection.lastPlace);
      if (made !== undefined && known.method === "session/new") keepNewest(connection.made.add(made));
      return data;
    },
    /** The id by which the server asked; undefined when that was on a connection of before. */
    outgoing(given: unknown): unknown {
      const [, generation = "0", original] = /^again (\d+) (.*)$/.exec(String(given)) ?? [];
      if (Number(generation) !== connection.generation) return undefined;
      return original === undefined ? given : JSON.parse(original);
    },
  };
  return connection;
}

/** Sessions that a connection remembers something of, once their streams have ended. */
const MOST_SESSIONS = 1000;

function keepNewest(sessions: Set<string> | Map<string, string>): void {
  if (sessions.size > MOST_SESSIONS) sessions.delete(sessions.keys().next().value!);
}

/** Our server writes the id first. */
const HEAD = /^\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|[^,]*),"(method|result|error)"/;

/** Gives a question of a later connection an id that no earlier one had. */
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

function headersOf({ headers }: RequestInit): Record<string, string> {
  return Object.fromEntries(new Headers(headers));
}
