/** A session and its turns, for programs. */
import type { Decision, Metadata, SessionRecord } from "@chimera/acp-schema/events";
import type { CallOptions, CallRoute, Sender } from "./send.js";
import { type FollowOptions, follow } from "./stream.js";
import type { Input, Output } from "./types.js";

type Body<N extends Parameters<CallRoute>[0]> = Input<N> extends { body?: infer B } ? NonNullable<B> : never;
export type PromptOptions = Omit<Body<"POST /sessions/{id}/turns">, "prompt"> & CallOptions;

/** How a turn ended. */
export interface TurnResult {
  readonly success: boolean;
  readonly cancelled: boolean;
  readonly output: string;
  readonly error: string | null;
  readonly cost: number;
}

export interface Session {
  readonly id: string;
  /** The session's own token, which allows only this session; null if this client did not create the session. */
  readonly token: string | null;
  /** Sends a prompt. Resolves when it is accepted and durable; then read the turn. */
  prompt(text: string, options?: PromptOptions): Promise<Turn>;
  /** A turn by its number, from 0. */
  turn(number: number): Turn;
  /** Yields every record once and in order, across lost connections and restarts of the server. */
  follow(options?: FollowOptions): AsyncGenerator<SessionRecord, void>;
  cancel(options?: CallOptions): Promise<void>;
  /** `shown` is the request's digest of what the person saw; `choice` is one of its `choices`, which replaces the decision. */
  answer(
    permissionId: string,
    decision: Decision,
    options?: CallOptions & { shown?: string; choice?: string; reason?: string },
  ): Promise<void>;
  undo(body?: Body<"POST /sessions/{id}/undo">, options?: CallOptions): Promise<Output<"POST /sessions/{id}/undo">>;
  redo(body?: Body<"POST /sessions/{id}/redo">, options?: CallOptions): Promise<Output<"POST /sessions/{id}/redo">>;
  /** The files that each turn changed; `{ diff: "true" }` adds the diffs. */
  changes(query?: { turn?: string; diff?: "true" | "false" }): Promise<Output<"GET /sessions/{id}/changes">>;
  settings(): Promise<Output<"GET /sessions/{id}/settings">>;
  change(settings: Body<"PATCH /sessions/{id}">): Promise<Output<"PATCH /sessions/{id}">>;
  transcript(format: "md" | "html" | "json"): Promise<string>;
  fork(turn?: number): Promise<Session>;
  /** Deletes the session with its log, and returns what was deleted. */
  delete(): Promise<Output<"DELETE /sessions/{id}">>;
}

/** A turn: its records, its text, its result. Reading it answers permission requests if `onPermission` was called. */
export interface Turn extends AsyncIterable<SessionRecord> {
  readonly number: number;
  /** Yields the pieces of the answer as they arrive. */
  text(): AsyncGenerator<string, void>;
  /** Waits for the last record of the turn. */
  result(): Promise<TurnResult>;
  /** Sets the function that decides the turn's permission requests while the turn is read. */
  onPermission(decide: (asked: Metadata<"permission_request">) => Decision | Promise<Decision>): this;
}

export function createSession(sender: Sender, id: string, token: string | null): Session {
  const { call } = sender;
  const session: Session = {
    id,
    token,
    async prompt(prompt, { signal, idempotencyKey, retries, timeoutMs, ...body } = {}) {
      const options = { signal, idempotencyKey, retries, timeoutMs };
      const reply = await call("POST /sessions/{id}/turns", { id, body: { prompt, ...body } }, options);
      return session.turn(Number(reply.message_id.slice(4)));
    },
    turn: (number) => createTurn(call, session, number),
    follow: (options = {}) => follow(sender, id, options),
    async cancel(options) {
      await call("POST /sessions/{id}/cancel", { id }, options);
    },
    async answer(pid, decision, { shown, choice, reason, ...options } = {}) {
      await call(
        "POST /sessions/{id}/permissions/{pid}",
        { id, pid, body: { decision, shown, choice, reason } },
        options,
      );
    },
    undo: (body = {}, options) => call("POST /sessions/{id}/undo", { id, body }, options),
    redo: (body = {}, options) => call("POST /sessions/{id}/redo", { id, body }, options),
    changes: (query = {}) => call("GET /sessions/{id}/changes", { id, query }),
    settings: () => call("GET /sessions/{id}/settings", { id }),
    change: (body) => call("PATCH /sessions/{id}", { id, body }),
    async transcript(format) {
      const text = await call("GET /sessions/{id}/transcript", { id, query: { format } });
      return typeof text === "string" ? text : JSON.stringify(text);
    },
    async fork(turn) {
      const made = await call("POST /sessions/{id}/fork", { id, body: { turn } });
      return createSession(sender, made.session_id, made.session_token);
    },
    delete: () => call("DELETE /sessions/{id}", { id }),
  };
  return session;
}

// --- internal ---

function createTurn(call: CallRoute, { id, follow, answer }: Session, number: number): Turn {
  let decide: Parameters<Turn["onPermission"]>[0] | null = null;
  const read = async function* (): AsyncGenerator<SessionRecord, void> {
    for await (const record of follow({ turn: number, until: "never" })) {
      if (record.turn !== number) continue;
      yield record;
      if (record.type === "agent_result" || record.type === "cancelled") return;
      if (record.type !== "permission_request" || !decide) continue;
      const { permission_id } = record.metadata;
      // The request may already be answered.
      const { permissions } = await call("GET /sessions/{id}/permissions", { id });
      if (!permissions.some((one) => one.permission_id === permission_id)) continue;
      const decision = await decide(record.metadata);
      // Another client may have answered first.
      await answer(permission_id, decision).catch((error) => {
        if (error?.status !== 409 && error?.status !== 404) throw error;
      });
    }
  };
  const turn: Turn = {
    number,
    [Symbol.asyncIterator]: read,
    async *text() {
      for await (const record of read()) if (record.type === "text_delta") yield record.metadata.text;
    },
    async result() {
      for await (const { type, metadata } of read()) {
        if (type === "agent_result") return { ...metadata, cancelled: false };
        if (type !== "cancelled") continue;
        const { output, cost = 0 } = metadata;
        return { output, cost, success: false, cancelled: true, error: null };
      }
      throw new Error("the stream of a turn ends with its last record");
    },
    onPermission(how) {
      decide = how;
      return turn;
    },
  };
  return turn;
}
