/** Calls between nodes: one node calls a method of a session that another node has, by the method's name. */
import { isSessionError, SessionError, type SessionErrorCode } from "./errors.js";
import { SIGNED, sessionsFor } from "./people.js";
import type { Person } from "./person.js";
import type { OwnedSession, PromptInput, Session } from "./session.js";
import type { Sessions } from "./sessions.js";

export interface SessionCall {
  readonly session: string;
  readonly method: string;
  /** Each argument is wrapped in an object, because JSON has no `undefined`. */
  readonly args: readonly { readonly value?: unknown }[];
  readonly person?: Person;
}

export type CallOutcome = CallDone | { readonly error: Failure };

export interface CallDone {
  readonly value: unknown;
  /** The number of the session's last record after the call. Absent if the session is no longer loaded. */
  readonly seq?: number;
}

interface Failure {
  readonly code?: SessionErrorCode;
  readonly name: string;
  readonly message: string;
}

/** The methods that are sent to the other node with their arguments as they are. */
export function plainCalls(
  send: (method: string, args: readonly unknown[]) => Promise<unknown>,
): Pick<Session, (typeof PLAIN)[number]> {
  const calls = PLAIN.map((method) => [method, (...args: readonly unknown[]) => send(method, args)]);
  return Object.fromEntries(calls);
}

/** Runs a call. Throws the errors of loading the session and of the method. */
export async function perform(
  sessions: Sessions,
  { session: id, method, args }: Omit<SessionCall, "person">,
): Promise<CallDone> {
  const row = Object.hasOwn(CALLS, method) ? CALLS[method] : undefined;
  if (!row) throw new SessionError("invalid_setting", `a session has no method ${JSON.stringify(method.slice(0, 80))}`);
  const given = args.map(({ value }) => value);
  const value = (await row(sessions, id, given)) ?? null;
  const session = sessions.find(id);
  if (!session) return { value };
  const seq = session.lastSeq;
  await session.durable(seq);
  return { value, seq };
}

/**
 * Makes the function that runs the calls of other nodes to sessions of this one. The other node has authenticated the caller; the caller's
 * rights are checked again here.
 *
 * @param more further methods, by their names
 * @example
 * const answer = createCallAnswerer(sessions);
 * await answer({ session: id, method: "setTitle", args: [{ value: "A title" }] }); // {"value":null,"seq":3}
 */
export function createCallAnswerer(
  sessions: Sessions,
  more: Readonly<Record<string, (arg: unknown) => Promise<unknown>>> = {},
): (call: SessionCall) => Promise<string> {
  const attended = new WeakSet<OwnedSession>();
  /** Keeps the session's questions open: the sender of the prompt may answer from another node, though no client is connected here. */
  const attend = (id: string): void => {
    const session = sessions.find(id);
    if (!session || attended.has(session)) return;
    attended.add(session);
    const { detach } = sessions.attach(id, { approves: true, absent: true });
    void session.ended.then(detach);
  };
  return async (call) => {
    try {
      const own = Object.hasOwn(more, call.method) ? more[call.method] : undefined;
      if (own) return JSON.stringify({ value: await own(call.args[0]?.value) } satisfies CallOutcome);
      const theirs = sessionsFor(sessions, call.person);
      if (call.method === "prompt" && !(await theirs.load(call.session)).isReadOnly) attend(call.session);
      return JSON.stringify((await perform(theirs, call)) satisfies CallOutcome);
    } catch (error) {
      return JSON.stringify({ error: failureOf(error) } satisfies CallOutcome);
    }
  };
}

/** The error that the other node threw, made again here. */
export function thrownBy({ code, name, message }: Failure, sessionId: string): Error {
  return code === undefined
    ? Object.assign(new Error(message), { name })
    : new SessionError(code, message, { sessionId });
}

// --- internal ---

type Row = (sessions: Sessions, id: string, args: readonly unknown[]) => Promise<unknown>;

/** Methods whose arguments and result go over the wire as they are. */
const PLAIN = [...SIGNED, "cancel", "notify", "undo", "redo"] as const satisfies readonly (keyof OwnedSession)[];

const CALLS: Readonly<Record<string, Row>> = {
  ...Object.fromEntries(
    PLAIN.map((method): [string, Row] => [
      method,
      async (sessions, id, args) => {
        const session = await sessions.load(id);
        return (session[method] as (...given: readonly unknown[]) => unknown)(...args);
      },
    ]),
  ),
  async prompt(sessions, id, [input]) {
    const { durable, ...accepted } = (await sessions.load(id)).prompt(input as PromptInput);
    await durable;
    return accepted;
  },
  made: async (sessions, id) => (await sessions.load(id)).made,
  close: (sessions, id) => sessions.close(id),
  delete: (sessions, id) => sessions.delete(id),
};

function failureOf(error: unknown): Failure {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { name, message, ...(isSessionError(error) && { code: error.code }) };
}
