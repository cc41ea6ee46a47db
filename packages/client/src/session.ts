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
  /**
   * Ends the running turn. Its last record, `cancelled`, comes within two seconds. Does nothing if no turn runs.
   *
   * @example
   * setTimeout(() => session.cancel(), 60_000);
   * const { cancelled } = await session.turn(0).result();
   */
  cancel(options?: CallOptions): Promise<void>;
  /** `shown` is the request's digest of what the person saw; `choice` is one of its `choices`, which replaces the decision. */
  answer(
    permissionId: string,
    decision: Decision,
    options?: CallOptions & { shown?: string; choice?: string; reason?: string },
  ): Promise<void>;
  /**
   * Takes back the last turn, or `steps` turns, with the files that they changed. `conflicts` names files that others changed since: they stay
   * as they are unless `force` is set. `dry_run` changes nothing and says what would be done. Throws `turn_running`.
   *
   * @example
   * const { turns, conflicts } = await session.undo({ steps: 2 });
   */
  undo(body?: Body<"POST /sessions/{id}/undo">, options?: CallOptions): Promise<Output<"POST /sessions/{id}/undo">>;
  /**
   * Does undone turns again, with their files, until the next prompt.
   *
   * @example
   * await session.undo();
   * await session.redo();
   */
  redo(body?: Body<"POST /sessions/{id}/redo">, options?: CallOptions): Promise<Output<"POST /sessions/{id}/redo">>;
  /**
   * The files that each turn changed; `{ diff: true }` adds the diffs.
   *
   * @example
   * const { turns } = await session.changes({ diff: true });
   * for (const { files } of turns) for (const { path, diff } of files) console.log(path, diff);
   */
  changes(query?: Input<"GET /sessions/{id}/changes">["query"]): Promise<Output<"GET /sessions/{id}/changes">>;
  /**
   * The present settings: model, mode, agent, options, limits, title.
   *
   * @example
   * const { model, mode } = await session.settings();
   */
  settings(): Promise<Output<"GET /sessions/{id}/settings">>;
  /**
   * Changes all the settings that it names, or none of them if one is refused.
   *
   * @example
   * await session.change({ title: "Fix the tests", mode: "read-only", options: { effort: "high" } });
   */
  change(settings: Body<"PATCH /sessions/{id}">): Promise<Output<"PATCH /sessions/{id}">>;
  /**
   * The conversation as a document.
   *
   * @example
   * await writeFile("session.md", await session.transcript("md"));
   */
  transcript(format: "md" | "html" | "json"): Promise<string>;
  /**
   * Copies the session up to the end of `turn`, counted from 0, by default of the last one. Files are not copied: both work in one directory.
   *
   * @example
   * const other = await session.fork(0);
   * await other.prompt("now try it without a cache");
   */
  fork(turn?: number): Promise<Session>;
  /** Deletes the session with its log, and returns what was deleted. */
  delete(): Promise<Output<"DELETE /sessions/{id}">>;
}

/** A turn: its records, its text, its result. Reading it answers what it asks if `onPermission` and `onQuestion` were called. */
export interface Turn extends AsyncIterable<SessionRecord> {
  readonly number: number;
  /** Yields the pieces of the answer as they arrive. */
  text(): AsyncGenerator<string, void>;
  /** Waits for the last record of the turn. */
  result(): Promise<TurnResult>;
  /** Sets the function that decides the turn's permission requests while the turn is read. */
  onPermission(decide: (asked: Metadata<"permission_request">) => Decision | Promise<Decision>): Turn;
  /** Sets the function that answers the agent's questions while the turn is read: an option's name, any text, or null for no answer. */
  onQuestion(answer: (asked: Metadata<"question_asked">) => string | null | Promise<string | null>): Turn;
}

/** Divides options into what goes into the body and how the call is made. */
export function split<T extends CallOptions>({ signal, idempotencyKey, retries, timeoutMs, ...body }: T) {
  return [body, { signal, idempotencyKey, retries, timeoutMs }] as const;
}

export function createSession(sender: Sender, id: string, token: string | null): Session {
  const { call } = sender;
  const session: Session = {
    id,
    token,
    async prompt(prompt, options = {}) {
      const [body, given] = split(options);
      const reply = await call("POST /sessions/{id}/turns", { id, body: { prompt, ...body } }, given);
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

type Asked = Readonly<Record<string, unknown>>;

function createTurn(call: CallRoute, { id, follow }: Session, number: number): Turn {
  const answers: { [T in SessionRecord["type"]]?: (asked: Asked) => Promise<void> } = {};
  const read = async function* (): AsyncGenerator<SessionRecord, void> {
    for await (const record of follow({ turn: number, until: "never" })) {
      if (record.turn !== number) continue;
      yield record;
      const { type, metadata } = record;
      if (type === "agent_result" || type === "cancelled") return;
      await answers[type]?.(metadata);
    }
  };
  /** Takes the function that answers what records of this type ask; `name` stands in routes and fields, `field` in the answer. */
  const on =
    (type: SessionRecord["type"], name: "permission" | "question", field: string) =>
    (answer: (asked: never) => unknown) => {
      const [list, key] = [`${name}s`, `${name}_id`] as const;
      answers[type] = async (asked) => {
        // It may already be answered.
        const open: Record<string, readonly Asked[]> = await call(`GET /sessions/{id}/${list}`, { id });
        if (!open[list]!.some((one) => one[key] === asked[key])) return;
        const body = { [field]: await answer(asked as never) };
        const input = { id, [`${name[0]}id`]: asked[key], body };
        // Another client may have answered first. The route is typed as one that takes any body.
        await call(`POST /sessions/{id}/${list}/{${name[0]}id}` as "POST /acp", input).catch((error) => {
          if (![404, 409].includes(error?.status)) throw error;
        });
      };
      return turn;
    };
  const turn: Turn = {
    number,
    [Symbol.asyncIterator]: read,
    async *text() {
      for await (const record of read()) if (record.type === "text_delta") yield record.metadata.text;
    },
    async result() {
      let last!: SessionRecord;
      for await (last of read());
      const given = last.metadata as Pick<TurnResult, "output"> & Partial<TurnResult>;
      return { success: false, error: null, cost: 0, ...given, cancelled: last.type === "cancelled" };
    },
    onPermission: on("permission_request", "permission", "decision"),
    onQuestion: on("question_asked", "question", "answer"),
  };
  return turn;
}
