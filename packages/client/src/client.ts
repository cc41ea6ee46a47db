/** The client of a server: any route by its name, and functions for the common ones. */
import type { RunRow, SessionRow } from "@chimera/acp-schema/http";
import { type CallOptions, type CallRoute, type ClientOptions, createSender } from "./send.js";
import { createSession, type PromptOptions, type Session, split } from "./session.js";
import { follow, type Watched, type WatchOptions, watch } from "./stream.js";
import type { Input, Output } from "./types.js";

type Query<N extends "GET /sessions" | "GET /runs"> =
  Input<N> extends { query?: infer Asked } ? NonNullable<Asked> : never;
type StartOptions = Omit<Input<"POST /sessions">["body"], "prompt"> & PromptOptions;

/** A list in pages. `for await` iterates over all rows. */
export interface Pages<T> extends AsyncIterable<T> {
  /** The next page; null after the last one. */
  page(): Promise<readonly T[] | null>;
}

export interface Client {
  /** Calls any route of the table. The parameters of the path, the query and the body are one typed object. */
  readonly call: CallRoute;
  readonly sessions: {
    /** Creates a session and sends a prompt; `session.turn(0)` is its first turn. */
    start(prompt: string, options?: StartOptions): Promise<Session>;
    /** Creates a session without a prompt. */
    create(body?: Input<"POST /session">["body"], options?: CallOptions): Promise<Session>;
    open(id: string, token?: string): Session;
    list(query?: Query<"GET /sessions">, options?: CallOptions): Pages<SessionRow>;
  };
  readonly runs: {
    list(query?: Query<"GET /runs">, options?: CallOptions): Pages<RunRow>;
    cost(query?: Query<"GET /runs">, options?: CallOptions): Promise<Output<"GET /runs/cost">>;
    /** Waits for the end of the run without a time limit, unless the mode is `async`. */
    start(body: Input<"POST /runs">["body"], options?: CallOptions): Promise<Output<"POST /runs">>;
  };
  /** Follows several sessions, and changes of the list, on one connection. */
  watch(options: WatchOptions): AsyncGenerator<Watched, void>;
  health(options?: CallOptions): Promise<Output<"GET /health">>;
}

/**
 * Makes a client for the server at `url`. It repeats prompts and reads when an answer is lost, continues streams where they broke, and
 * throws a `ClientError` for every failure.
 *
 * @example
 * const client = createClient({ url: "http://127.0.0.1:5173", token });
 * const session = await client.sessions.start("list files and read README");
 * for await (const text of session.turn(0).text()) process.stdout.write(text);
 */
export function createClient(options: ClientOptions): Client {
  const sender = createSender(options);
  const { call } = sender;
  /** A session keeps using the client's token if there is one, because it allows more than the session's own. */
  const own = (id: string, token: string | null) =>
    createSession(
      token !== null && options.token === undefined ? createSender({ ...options, token }) : sender,
      id,
      token,
    );
  const list =
    <Row, Asked extends { readonly after?: string | undefined }>(name: "sessions" | "runs") =>
    (query?: Asked, given?: CallOptions): Pages<Row> => {
      let after: string | null | undefined = query?.after;
      const page = async () => {
        if (after === null) return null;
        const asked = { limit: "50", ...query, after };
        const reply: { next: string | null } = await call(`GET /${name}`, { query: asked } as never, given);
        after = reply.next;
        return (reply as never)[name] as readonly Row[];
      };
      return {
        page,
        async *[Symbol.asyncIterator]() {
          for (let rows = await page(); rows; rows = await page()) yield* rows;
        },
      };
    };
  return {
    call,
    sessions: {
      async start(prompt, asked = {}) {
        const [body, given] = split(asked);
        const made = await call("POST /sessions", { body: { prompt, ...body } }, given);
        return own(made.session_id, made.session_token);
      },
      async create(body = {}, given) {
        const made = await call("POST /session", { body }, given);
        return own(made.session_id, made.session_token);
      },
      open: (id, token) =>
        createSession(token === undefined ? sender : createSender({ ...options, token }), id, token ?? null),
      list: list<SessionRow, Query<"GET /sessions">>("sessions"),
    },
    runs: {
      list: list<RunRow, Query<"GET /runs">>("runs"),
      cost: (query = {}, given) => call("GET /runs/cost", { query }, given),
      async start({ mode, ...body }, given = {}) {
        const run = await call("POST /runs", { body: { ...body, mode: "async" } }, given);
        if (mode === "async") return run;
        const { run_id, session_id } = run;
        for await (const _ of follow(sender, session_id, { until: "turn", signal: given.signal }));
        return call("GET /runs/{run_id}", { run_id }, given);
      },
    },
    watch: (given) => watch(sender, given),
    health: (given) => call("GET /health", {}, given),
  };
}
