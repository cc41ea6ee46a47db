/**
 * The sessions that one connection shows. A reader follows the log of each. It answers a prompt when it passes the last record of the
 * prompt's turn, so the client gets every update before the reply. The reader of an unloaded session sleeps until it is loaded again.
 */
import { randomUUID } from "node:crypto";
import type { TurnView } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, type SessionEvent } from "@chimera/acp-schema/events";
import { createLanes, withResolvers } from "@chimera/acp-schema/promises";
import type { LogEntry, Subscription } from "@chimera/event-store";
import { type Connection, deferred, isConnectionError, type RequestContext } from "@chimera/ndjson-rpc";
import { type Accepted, type McpServer, type PromptInput, type Session, SessionError } from "@chimera/session";
import type { Core } from "./core.js";
import type { ConnectionContext } from "./dialect.js";
import { createOwnPrompts, type OwnPrompts } from "./input.js";
import type { SessionView } from "./session-view.js";

export type ConnectionSessions = ReturnType<typeof createConnectionSessions>;

export interface ShowOptions {
  readonly from: number;
  readonly view: () => SessionView;
  readonly isHeld?: boolean;
  /** The server has just sent the client everything before `from`, so an earlier cursor of the client does not count. */
  readonly isReplayed?: boolean;
}

/** A prompt and the session it is for, now open. */
export interface OpenedPrompt {
  readonly session: Session;
  readonly input: PromptInput;
  /** Sends further updates that the client must get before the answer. */
  readonly updates?: () => Promise<void>;
}

/** With an `origin`, several people may watch through one connection, so it is also sent the prompts that it sent itself. */
type ConnectionSessionsDeps = Pick<
  ConnectionContext,
  "connection" | "origin" | "core" | "onLeave" | "onReaderError" | "cursors" | "onRewind"
>;

/** The sessions of a connection. A forced dialect is opened before `initialize` and again by it, and must show each session once. */
export function sessionsOf(deps: ConnectionSessionsDeps): ConnectionSessions {
  const sessions = byConnection.get(deps.connection) ?? createConnectionSessions(deps);
  byConnection.set(deps.connection, sessions);
  return sessions;
}

// --- internal ---

const byConnection = new WeakMap<Connection, ConnectionSessions>();

function createConnectionSessions(deps: ConnectionSessionsDeps) {
  const shown = new Map<string, Shown>();
  const lentServers = new Map<string, readonly McpServer[]>();
  /** By session id: settles when the prompts that still wait for the session to open are in the queue. */
  const arriving = createLanes();
  const ownPrompts = createOwnPrompts();
  let stopListening: (() => void) | null = null;
  let isGone = false;

  const hide = (id: string, failureOf: (one: Shown, turn: number) => unknown = unfinished): void => {
    const one = shown.get(id);
    if (!one) return;
    shown.delete(id);
    const { subscription } = one;
    one.subscription = null;
    subscription?.close();
    one.detach();
    one.view.close?.();
    for (const turn of [...one.pending.keys()]) settle(one, turn, failureOf(one, turn));
  };
  /** For a log that was deleted or cannot be read: answers the waiting prompts. The client may load the session again. */
  const lose = (one: Shown, subscription: Subscription, failure: unknown = null): void => {
    if (one.subscription === subscription) hide(one.id, () => failure);
  };
  const follow = ({ sessions }: Core, one: Shown, from: number): void => {
    // This must come before `follow`, because a store in memory delivers the first batch at once.
    one.reached = from;
    one.isNew = true;
    const subscription: Subscription = sessions.logs.follow(
      one.id,
      { from, sleeps: one.isHeld ? undefined : "unloaded" },
      (batch) => deliver(deps, one, batch, () => one.subscription === subscription, ownPrompts),
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

  // The client's channel lost lines: send everything after the record again, with the answers to prompts.
  deps.onRewind((id, seq) => {
    const one = shown.get(id);
    if (!one) return void deps.cursors.set(id, seq);
    const { subscription } = one;
    // A client that names a later record than it was sent must not miss any.
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
    /** Shows a session's records after `from`, unless it is shown already. With `isHeld` another process writes the log, so watch it. */
    show(core: Core, id: string, options: ShowOptions) {
      // The client may have left during its last call.
      if (isGone || shown.has(id)) return;
      stopListening ??= core.sessions.onLoad((session) => shown.get(session.id)?.view.reloaded?.(session));
      const one = startShowing(core, id, options, () => lentServers.get(id) ?? []);
      shown.set(id, one);
      const cursor = options.isReplayed ? undefined : deps.cursors.get(id);
      deps.cursors.delete(id);
      follow(core, one, Math.min(cursor ?? options.from, options.from));
    },
    view: (id: string) => shown.get(id)?.view,
    /** Keeps the MCP servers that the client provides for a session. */
    lend: (id: string, servers: readonly McpServer[]) => void lentServers.set(id, servers),
    /** Queues a prompt once its session is open. The request is answered after the records of its turn and the `updates`. */
    prompt(id: string, request: RequestContext, opening: () => Promise<OpenedPrompt>, key?: string) {
      ownPrompts.add(key);
      const opened = opening();
      // Prompts run in the order the client sent them, whichever of them was ready first; one that cannot be opened fails at once.
      const submitted = arriving.inLane(id, () =>
        opened.then((prompt) => submit(deps, shown.get(id), prompt, request, ownPrompts)),
      );
      return Promise.all([submitted, opened]).then(() => submitted);
    },
    /** Resolves when the prompts sent so far are in the queue. A cancel must wait for this, or it could overtake its prompt. */
    arrived: (id: string) => arriving.settled(id),
    /** Unloads or deletes a session, sends its last updates, and stops showing it. */
    async close(id: string, how: "close" | "delete") {
      await arriving.settled(id);
      const { sessions } = await deps.core();
      // A session that another node has loaded must be deleted there first, because that node has its snapshots.
      const isDeleted = how === "delete" && sessions.isAway?.(id) === true;
      try {
        await (isDeleted ? sessions.delete(id) : sessions.close(id));
        const answers = [...(shown.get(id)?.pending.values() ?? [])].flat().map(({ done }) => done);
        await Promise.race([Promise.all(answers), new Promise((resolve) => setTimeout(resolve, FAREWELL_MS).unref())]);
        hide(id, () => null);
      } finally {
        hide(id);
        lentServers.delete(id);
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
  /** For a prompt that was sent again after its turn had ended: the last record at that moment. Null for others. */
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
  /** Answered prompts by turn: a client that goes back to before the end of a turn gets the answer again. */
  readonly answered: Map<number, readonly RequestContext[]>;
  readonly detach: () => void;
  subscription: Subscription | null;
  /** The last record whose lines were sent. */
  reached: number;
  /** Whether the subscription has not delivered anything yet. */
  isNew: boolean;
}

/** For how many turns of a session the answers are kept, to be sent again. */
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
  ownPrompts: OwnPrompts,
): Promise<void> {
  const { connection } = deps;
  const { id: session, view, pending, answered } = one;
  let seq = 0;
  if (one.isNew) {
    one.isNew = false;
    // A prompt begins a new message. Any other record may continue a message whose beginning this reader has not seen.
    const [first] = batch;
    if (first && first.type !== "user_message") {
      await view.begin?.(first.seq);
      if (!isCurrent()) return;
    }
  }
  for (const entry of batch) {
    const turn = promptTurn(entry);
    const isOwnPrompt =
      deps.origin === undefined && turn >= 0 && (pending.has(turn) || answered.has(turn) || ownPrompts.has(entry));
    seq = isLost(entry) ? entry.last : entry.seq;
    for (const line of view.frames(entry, isOwnPrompt)) connection.notifyEncoded(line, { session, seq });
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

/** Answers the prompts of a turn after its last record was sent. */
async function answerTurn(one: Shown, turn: number, seq: number, isCurrent: () => boolean): Promise<void> {
  const waiting = one.pending.get(turn);
  if (!waiting) return;
  // The answer promises that the turn is durable.
  const kept = waiting.flatMap(({ session, updates }) => [session.durable(seq), updates()]);
  const failure = await Promise.all(kept).then(
    () => null,
    (error: unknown) => error,
  );
  // If the client went back meanwhile, it must first get the updates again.
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
  // Only a turn that is in the log can be sent again.
  if (failure !== null || seq === undefined) return;
  answered.set(turn, [...(answered.get(turn) ?? []), ...waiting.map(({ request }) => request)]);
  if (answered.size > REPEATED) answered.delete(answered.keys().next().value!);
}

/** Null for a turn that has ended. Another may go on: `cancelled` would be untrue, and an error that invites a repeat could begin it twice. */
function unfinished({ id, pending }: Shown, turn: number): Error | null {
  if (pending.get(turn)?.every(({ session }) => session.conversation.turns[turn]?.ended)) return null;
  return new SessionError("outcome_unknown", `lost sight of ${id} before the turn ended: look before you ask again`);
}

/** A turn that has not ended is one that the close or the deletion of its session cancels. */
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
  ownPrompts: OwnPrompts,
): typeof deferred | Promise<typeof deferred> {
  if (!one) throw new Error(`session ${session.id} is not open on this connection`);
  let accepted: Accepted | Promise<Accepted> | undefined;
  // The client cancelled the request. When a client leaves instead, its turn continues for the other clients.
  request.onAbort((reason) => {
    if (!isConnectionError(reason) || reason.code !== "aborted") return;
    if (accepted === undefined) throw reason;
    void cancelTurn(accepted).catch((error) => deps.onReaderError(error, session.id));
  });
  const cancelTurn = async (prompt: Accepted | Promise<Accepted>) =>
    session.cancel((prompt instanceof Promise ? await prompt : prompt).turn);
  const wait = ({ turn }: Accepted): typeof deferred => {
    const { promise: done, resolve: answered } = withResolvers();
    const send = () => updates().catch((error) => deps.onReaderError(error, session.id));
    const endedBy = session.conversation.turns[turn]?.ended ? session.lastSeq : null;
    const waiting = one.pending.get(turn) ?? [];
    one.pending.set(turn, [...waiting, { session, request, updates: send, endedBy, answered, done }]);
    if (endedBy !== null && one.reached >= endedBy) settle(one, turn, null, endedBy);
    // The session may have been hidden while the other node took the prompt. Then no reader would reach the end of the turn.
    if (one.subscription === null) settle(one, turn, unfinished(one, turn));
    return deferred;
  };
  const isAway = one.core.sessions.isAway?.(session.id) === true;
  // This reader may see the record of a prompt before the other node answers. The key shows whose prompt it is.
  const key = input.key ?? (isAway ? randomUUID() : undefined);
  ownPrompts.add(key);
  accepted = session.prompt({ ...input, key, origin: deps.origin });
  return accepted instanceof Promise ? accepted.then(wait) : wait(accepted);
}

/** The turn that the entry begins or ends; -1 for every other entry, so that the lines of deltas need not be decoded. */
function promptTurn(entry: LogEntry<SessionEvent>): number {
  return !isLost(entry) && (entry.type === "user_message" || endsTurn(entry.type)) ? (entry.event.turn ?? -1) : -1;
}
