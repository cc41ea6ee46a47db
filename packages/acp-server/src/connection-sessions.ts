/**
 * The sessions that one connection shows, by id. Each is a reader of its log; a prompt is answered by that reader when it passes the
 * last record of its turn, which is why every update comes before the reply and none after. A session that is unloaded stays shown: its
 * reader sleeps until it is loaded again.
 */
import { randomUUID } from "node:crypto";
import type { TurnView } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { LogEntry, Subscription } from "@chimera/event-store";
import { type Connection, deferred, isConnectionError, type RequestContext } from "@chimera/ndjson-rpc";
import type { Accepted, McpServer, PromptInput, Session } from "@chimera/session";
import type { Core } from "./core.js";
import type { ConnectionContext } from "./dialect.js";
import { createOwnPrompts, type OwnPrompts } from "./input.js";
import type { SessionView } from "./session-view.js";

export type ConnectionSessions = ReturnType<typeof createConnectionSessions>;

export interface ShowOptions {
  readonly from: number;
  readonly view: () => SessionView;
  readonly isHeld?: boolean;
  /** The client was just sent everything before `from`: no earlier cursor counts. */
  readonly isReplayed?: boolean;
}

/** A prompt and the open session it is for. */
export interface OpenedPrompt {
  readonly session: Session;
  readonly input: PromptInput;
  /** Sends what else the client is to know before the answer. */
  readonly updates?: () => Promise<void>;
}

/** With an `origin` a connection speaks for others: several people may watch through it, so it is shown its own prompts too. */
type ConnectionSessionsDeps = Pick<
  ConnectionContext,
  "connection" | "origin" | "core" | "onLeave" | "onReaderError" | "cursors" | "onRewind"
>;

/** Those of this connection: a dialect that was forced on it is opened before and after `initialize`, and shows each session once. */
export function sessionsOf(deps: ConnectionSessionsDeps): ConnectionSessions {
  const own = byConnection.get(deps.connection) ?? createConnectionSessions(deps);
  byConnection.set(deps.connection, own);
  return own;
}

// --- internal ---

const byConnection = new WeakMap<Connection, ConnectionSessions>();

function createConnectionSessions(deps: ConnectionSessionsDeps) {
  const shown = new Map<string, Shown>();
  const lent = new Map<string, readonly McpServer[]>();
  /** Prompts whose session is still being opened, by its id. */
  const arriving = new Map<string, Promise<unknown>>();
  const own = createOwnPrompts();
  let stopListening: (() => void) | null = null;
  let isGone = false;

  const hide = (id: string): void => {
    const one = shown.get(id);
    if (!one) return;
    shown.delete(id);
    const { subscription } = one;
    one.subscription = null;
    subscription?.close();
    one.detach();
    one.view.close?.();
    for (const turn of [...one.pending.keys()]) settle(one, turn);
  };
  /** The log was deleted or cannot be read: what waits is answered, and the client may load the session again. */
  const lose = (one: Shown, subscription: Subscription, failure: unknown = null): void => {
    if (one.subscription !== subscription) return;
    for (const turn of [...one.pending.keys()]) settle(one, turn, failure);
    hide(one.id);
  };
  const follow = ({ sessions }: Core, one: Shown, from: number): void => {
    // Before the first batch, which a store in memory hands over at once.
    one.reached = from;
    one.isNew = true;
    const subscription: Subscription = sessions.logs.follow(
      one.id,
      { from, sleeps: one.isHeld ? undefined : "unloaded" },
      (batch) => deliver(deps, one, batch, () => one.subscription === subscription, own),
    );
    one.subscription = subscription;
    subscription.ended.then(
      () => lose(one, subscription),
      (error) => {
        deps.onReaderError(error, one.id);
        lose(one, subscription, error);
      },
    );
  };

  // Everything after the record again, the answers to prompts too: the client's channel lost it.
  deps.onRewind((id, seq) => {
    const one = shown.get(id);
    if (!one) return void deps.cursors.set(id, seq);
    const { subscription } = one;
    // Nothing is skipped, wherever a client says that it is.
    if (!subscription || seq >= one.reached) return;
    one.subscription = null;
    subscription.close();
    follow(one.core, one, seq);
  });
  deps.onLeave(() => {
    isGone = true;
    for (const id of [...shown.keys()]) hide(id);
    stopListening?.();
  });

  return {
    /** Shows a session's records after `from`, if it is not shown already. `isHeld`: by another process, so its log is watched. */
    show(core: Core, id: string, options: ShowOptions) {
      // The client may have left while its last call was under way.
      if (isGone || shown.has(id)) return;
      stopListening ??= core.sessions.onLoad((session) => shown.get(session.id)?.view.reloaded?.(session));
      const one = startShowing(core, id, options, () => lent.get(id) ?? []);
      shown.set(id, one);
      const cursor = options.isReplayed ? undefined : deps.cursors.get(id);
      deps.cursors.delete(id);
      follow(core, one, Math.min(cursor ?? options.from, options.from));
    },
    view: (id: string) => shown.get(id)?.view,
    /** The MCP servers that the client hands over for a session. */
    lend: (id: string, servers: readonly McpServer[]) => void lent.set(id, servers),
    /** Sends a prompt once its session is open; the request is answered when the turn has passed and `updates` have gone out. */
    prompt(id: string, request: RequestContext, opening: () => Promise<OpenedPrompt>, key?: string) {
      own.add(key);
      const before = arriving.get(id);
      const submitting = opening().then(async (prompt): Promise<typeof deferred> => {
        // Prompts run in the order they were sent, whichever of them was ready first.
        if (before) await before;
        return submit(deps, shown.get(id), prompt, request, own);
      });
      const settled = Promise.allSettled([before, submitting]);
      arriving.set(id, settled);
      void settled.then(() => arriving.get(id) === settled && arriving.delete(id));
      return submitting;
    },
    /** Resolves when the prompts sent so far have their place in the queue. A cancel that did not wait could overtake its prompt. */
    arrived: async (id: string) => void (await arriving.get(id)),
    /** Unloads or deletes a session, sends its last updates, and stops showing it. */
    async close(id: string, how: "close" | "delete") {
      await arriving.get(id);
      const { sessions } = await deps.core();
      // The node that has a session also has its snapshots, as long as it has the session.
      const isDeleted = how === "delete" && sessions.isAway?.(id) === true;
      try {
        await (isDeleted ? sessions.delete(id) : sessions.close(id));
        const answers = [...(shown.get(id)?.pending.values() ?? [])].flat().map(({ done }) => done);
        await Promise.race([Promise.all(answers), new Promise((resolve) => setTimeout(resolve, FAREWELL_MS).unref())]);
      } finally {
        hide(id);
        lent.delete(id);
      }
      if (how === "delete" && !isDeleted) await sessions.delete(id);
    },
  };
}

/** How long the last updates of a closed session may take to reach the client. */
const FAREWELL_MS = 1000;

interface Pending {
  readonly session: Session;
  readonly request: RequestContext;
  readonly updates: () => Promise<void>;
  /** The last record of before, for a prompt whose turn had ended when it was sent again. */
  readonly endedBy: number | null;
  answered(): void;
  readonly done: Promise<void>;
}

interface Shown {
  readonly id: string;
  readonly core: Core;
  readonly view: SessionView;
  readonly isHeld: boolean;
  readonly pending: Map<number, readonly Pending[]>;
  /** Answered prompts by their turn: a client that goes back before the end of one gets its answer again. */
  readonly answered: Map<number, readonly RequestContext[]>;
  readonly detach: () => void;
  subscription: Subscription | null;
  /** The last record whose lines were sent. */
  reached: number;
  /** Nothing of the subscription has come yet. */
  isNew: boolean;
}

/** How many answered turns of a session can be shown again with their answers. */
const REPEATED = 100;

function startShowing(
  core: Core,
  id: string,
  { view: makeView, isHeld = false }: ShowOptions,
  mcpServers: () => readonly McpServer[],
): Shown {
  const view = makeView();
  const pending = new Map<number, readonly Pending[]>();
  const { detach } = core.sessions.attach(id, {
    transport: "acp",
    approves: true,
    ...(view.effects && { effects: view.effects }),
    mcpServers,
    onTurnsLost(error, busy) {
      for (const turn of [...pending.keys()].filter((candidate) => !busy.has(candidate))) settle(one, turn, error);
    },
  });
  const one: Shown = {
    id,
    core,
    view,
    isHeld,
    pending,
    answered: new Map(),
    detach,
    subscription: null,
    reached: 0,
    isNew: true,
  };
  return one;
}

async function deliver(
  deps: ConnectionSessionsDeps,
  one: Shown,
  batch: readonly LogEntry<SessionEvent>[],
  isCurrent: () => boolean,
  prompts: OwnPrompts,
): Promise<void> {
  const { connection } = deps;
  const { id: session, view, pending, answered } = one;
  let seq = 0;
  if (one.isNew) {
    one.isNew = false;
    // A prompt begins something new; anything else may go on with what was not shown here.
    const [first] = batch;
    if (first && first.type !== "user_message") {
      await view.begin?.(first.seq);
      if (!isCurrent()) return;
    }
  }
  for (const entry of batch) {
    const turn = promptTurn(entry);
    const own =
      deps.origin === undefined && turn >= 0 && (pending.has(turn) || answered.has(turn) || prompts.has(entry));
    seq = isLost(entry) ? entry.last : entry.seq;
    for (const line of view.frames(entry, own)) connection.notifyEncoded(line, { session, seq });
    one.reached = seq;
    if (isLost(entry)) continue;
    view.after?.(entry);
    if (turn < 0 || !endsTurn(entry.type)) continue;
    for (const request of answered.get(turn) ?? []) request.repeat({ session, seq });
    await answerTurn(one, turn, seq, isCurrent);
    if (!isCurrent()) return;
  }
  for (const [turn, waiting] of pending) {
    if (waiting.some(({ endedBy }) => endedBy !== null && endedBy <= seq)) settle(one, turn, null, seq);
  }
  await connection.drained(session);
}

/** Answers the prompts of a turn whose last record has passed. */
async function answerTurn(one: Shown, turn: number, seq: number, isCurrent: () => boolean): Promise<void> {
  const waiting = one.pending.get(turn);
  if (!waiting) return;
  // An answer promises that the turn is kept.
  const kept = waiting.flatMap(({ session, updates }) => [session.durable(seq), updates()]);
  const failure = await Promise.all(kept).then(
    () => null,
    (error: unknown) => error,
  );
  // A client that went back meanwhile gets the updates again first.
  if (isCurrent()) settle(one, turn, failure, seq);
}

function settle({ id, pending, answered, view }: Shown, turn: number, failure: unknown = null, seq?: number): void {
  const waiting = pending.get(turn);
  if (!waiting) return;
  pending.delete(turn);
  const subject = { session: id, ...(seq !== undefined && { seq }) };
  for (const { session, request, answered: done } of waiting) {
    const ended = session.conversation.turns[turn];
    const answer = failure === null ? view.answer(stopReasonOf(ended), ended) : null;
    if (answer) request.reply(answer, subject);
    else request.fail(failure ?? turnFailure(ended), subject);
    done();
  }
  // Only a turn that is in the log can pass again.
  if (failure !== null || seq === undefined) return;
  answered.set(turn, [...(answered.get(turn) ?? []), ...waiting.map(({ request }) => request)]);
  if (answered.size > REPEATED) answered.delete(answered.keys().next().value!);
}

/** A turn that is answered before it ended was left: its session, or its connection, was closed. */
function stopReasonOf(turn: TurnView | undefined): string {
  return turn?.ended && !turn.result?.cancelled ? (turn.stopReason ?? "end_turn") : "cancelled";
}

function turnFailure(turn: TurnView | undefined): Error {
  const { name = "AgentError", message = turn?.result?.error ?? "the turn failed" } = turn?.failure ?? {};
  return Object.assign(new Error(message), { name });
}

function submit(
  deps: ConnectionSessionsDeps,
  one: Shown | undefined,
  { session, input, updates = async () => {} }: OpenedPrompt,
  request: RequestContext,
  own: OwnPrompts,
): typeof deferred | Promise<typeof deferred> {
  if (!one) throw new Error(`session ${session.id} is not open on this connection`);
  let accepted: Accepted | Promise<Accepted> | undefined;
  // The client takes its prompt back. One that goes away leaves the turn to the other clients.
  request.onAbort((reason) => {
    if (!isConnectionError(reason) || reason.code !== "aborted") return;
    if (accepted === undefined) throw reason;
    void cancelTurn(accepted).catch((error) => deps.onReaderError(error, session.id));
  });
  const cancelTurn = async (prompt: Accepted | Promise<Accepted>) =>
    session.cancel((prompt instanceof Promise ? await prompt : prompt).turn);
  const wait = ({ turn }: Accepted): typeof deferred => {
    let answered = () => {};
    const done = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const send = () => updates().catch((error) => deps.onReaderError(error, session.id));
    const endedBy = session.conversation.turns[turn]?.ended ? session.lastSeq : null;
    const waiting = one.pending.get(turn) ?? [];
    one.pending.set(turn, [...waiting, { session, request, updates: send, endedBy, answered, done }]);
    if (endedBy !== null && one.reached >= endedBy) settle(one, turn, null, endedBy);
    // The session may have been hidden while the other node took the prompt: no reader comes to the end of the turn.
    if (one.subscription === null) settle(one, turn);
    return deferred;
  };
  const isAway = one.core.sessions.isAway?.(session.id) === true;
  // The record of a prompt may be read here before the other node answers: its key says whose prompt it is.
  const key = input.key ?? (isAway ? randomUUID() : undefined);
  own.add(key);
  accepted = session.prompt({ ...input, key, origin: deps.origin });
  return accepted instanceof Promise ? accepted.then(wait) : wait(accepted);
}

/** The turn that a prompt begins or a record ends; -1 for every other entry, because a delta's line need not be decoded for it. */
function promptTurn(entry: LogEntry<SessionEvent>): number {
  return !isLost(entry) && (entry.type === "user_message" || endsTurn(entry.type)) ? (entry.event.turn ?? -1) : -1;
}
