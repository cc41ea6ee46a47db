/**
 * The sessions that one connection shows, by id. Each is a reader of its log; a prompt is answered by that reader when it passes the
 * last record of its turn, which is why every update comes before the reply and none after. A session that is unloaded stays shown: its
 * reader sleeps until it is loaded again.
 */
import type { TurnView } from "@chimera/acp-schema/conversation";
import { endsTurn, isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { Entry, LogEntry, Subscription } from "@chimera/event-store";
import { type Connection, deferred, isConnectionError, type RequestContext } from "@chimera/ndjson-rpc";
import type { ClientEffects, McpServer, PromptInput, Session } from "@chimera/session";
import type { Core } from "./core.js";
import type { ConnectionContext } from "./dialect.js";

export interface ConnectionSessions {
  /** Shows a session's records after `from`, if it is not shown already. `isHeld`: by another process, so its log is watched. */
  show(core: Core, id: string, options: ShowOptions): void;
  view(id: string): SessionView | undefined;
  /** The MCP servers that the client hands over for a session. */
  lend(id: string, servers: readonly McpServer[]): void;
  /** Sends a prompt once its session is open; the request is answered when the turn has passed and `updates` have gone out. */
  prompt(id: string, request: RequestContext, opening: () => Promise<OpenedPrompt>): Promise<typeof deferred>;
  /** Resolves when the prompts sent so far have their place in the queue. A cancel that did not wait could overtake its prompt. */
  arrived(id: string): Promise<void>;
  /** Unloads a session; its last updates go out, then it is no longer shown. */
  close(id: string): Promise<void>;
}

/** One session as a dialect shows it: frames for its records, and what ends a prompt. */
export interface SessionView {
  /** Encoded lines for one entry, in order. `own` tells that this connection sent the turn's prompt. */
  frames(entry: LogEntry<SessionEvent>, own: boolean): readonly string[];
  /** The answer to the prompt of a turn, made when its last record passes; null when the turn failed and so does the request. */
  answer(stopReason: string, turn: TurnView | undefined): object | null;
  /** Called with each record after its frames went out: permissions are asked and withdrawn here. */
  after?(entry: Entry<SessionEvent>): void;
  /** What the client does in this machine's place. */
  readonly effects?: ClientEffects;
  /** The session was loaded again. */
  reloaded?(session: Session): void;
  close?(): void;
}

export interface ShowOptions {
  readonly from: number;
  readonly view: () => SessionView;
  readonly isHeld?: boolean;
}

/** A prompt and the open session it is for. */
export interface OpenedPrompt {
  readonly session: Session;
  readonly input: PromptInput;
  /** Sends what else the client is to know before the answer. */
  readonly updates?: () => Promise<void>;
}

/** With an `origin` a connection speaks for others: several people may watch through it, so it is shown its own prompts too. */
type ConnectionSessionsDeps = Pick<ConnectionContext, "connection" | "origin" | "core" | "onLeave" | "onReaderError">;

/** Those of this connection: a dialect that was forced on it is opened before and after `initialize`, and shows each session once. */
export function sessionsOf(deps: ConnectionSessionsDeps): ConnectionSessions {
  const own = byConnection.get(deps.connection) ?? createConnectionSessions(deps);
  byConnection.set(deps.connection, own);
  return own;
}

// --- internal ---

const byConnection = new WeakMap<Connection, ConnectionSessions>();

function createConnectionSessions(deps: ConnectionSessionsDeps): ConnectionSessions {
  const shown = new Map<string, Shown>();
  const lent = new Map<string, readonly McpServer[]>();
  /** Prompts whose session is still being opened, by its id. */
  const arriving = new Map<string, Promise<unknown>>();
  let stopListening: (() => void) | null = null;
  let isGone = false;

  const hide = (id: string): void => {
    const one = shown.get(id);
    if (!one) return;
    shown.delete(id);
    one.subscription?.close();
    one.detach();
    one.view.close?.();
    for (const turn of [...one.pending.keys()]) settle(one, turn);
  };

  deps.onLeave(() => {
    isGone = true;
    for (const id of [...shown.keys()]) hide(id);
    stopListening?.();
  });

  return {
    show(core, id, options) {
      // The client may have left while its last call was under way.
      if (isGone || shown.has(id)) return;
      stopListening ??= core.sessions.onLoad((session) => shown.get(session.id)?.view.reloaded?.(session));
      const one = startShowing(deps, core, id, options, () => lent.get(id) ?? []);
      shown.set(id, one);
      /** The log was deleted or cannot be read: what waits is answered, and the client may load the session again. */
      const lose = (failure: unknown = null): void => {
        if (shown.get(id) !== one) return;
        for (const turn of [...one.pending.keys()]) settle(one, turn, failure);
        hide(id);
      };
      one.subscription?.ended.then(
        () => lose(),
        (error) => {
          deps.onReaderError(error, id);
          lose(error);
        },
      );
    },
    view: (id) => shown.get(id)?.view,
    lend: (id, servers) => void lent.set(id, servers),
    prompt(id, request, opening) {
      const before = arriving.get(id);
      const placing = opening().then(async (prompt): Promise<typeof deferred> => {
        // Prompts run in the order they were sent, whichever of them was ready first.
        if (before) await before;
        return place(deps, shown.get(id), prompt, request);
      });
      const settled = Promise.allSettled([before, placing]);
      arriving.set(id, settled);
      void settled.then(() => arriving.get(id) === settled && arriving.delete(id));
      return placing;
    },
    arrived: async (id) => void (await arriving.get(id)),
    async close(id) {
      await arriving.get(id);
      const { sessions } = await deps.core();
      try {
        await sessions.close(id);
        const answers = [...(shown.get(id)?.pending.values() ?? [])].map(({ done }) => done);
        await Promise.race([Promise.all(answers), new Promise((resolve) => setTimeout(resolve, FAREWELL_MS).unref())]);
      } finally {
        hide(id);
        lent.delete(id);
      }
    },
  };
}

/** How long the last updates of a closed session may take to reach the client. */
const FAREWELL_MS = 1000;

interface Pending {
  readonly session: Session;
  readonly request: RequestContext;
  readonly updates: () => Promise<void>;
  answered(): void;
  readonly done: Promise<void>;
}

interface Shown {
  readonly view: SessionView;
  readonly pending: Map<number, Pending>;
  readonly detach: () => void;
  subscription: Subscription | null;
}

function startShowing(
  deps: ConnectionSessionsDeps,
  { sessions }: Core,
  id: string,
  { from, view: makeView, isHeld = false }: ShowOptions,
  mcpServers: () => readonly McpServer[],
): Shown {
  const view = makeView();
  const pending = new Map<number, Pending>();
  const { detach } = sessions.attach(id, {
    transport: "acp",
    approves: true,
    ...(view.effects && { effects: view.effects }),
    mcpServers,
    onTurnsLost(error, busy) {
      for (const turn of [...pending.keys()].filter((candidate) => !busy.has(candidate))) settle(one, turn, error);
    },
  });
  const one: Shown = { view, pending, detach, subscription: null };
  one.subscription = sessions.logs.follow(id, { from, sleeps: !isHeld }, (batch) => deliver(deps, one, batch));
  return one;
}

async function deliver(
  deps: ConnectionSessionsDeps,
  one: Shown,
  batch: readonly LogEntry<SessionEvent>[],
): Promise<void> {
  const connection = deps.connection;
  for (const entry of batch) {
    const turn = promptTurn(entry);
    const own = deps.origin === undefined && one.pending.has(turn);
    for (const line of one.view.frames(entry, own)) connection.notifyEncoded(line);
    if (isLost(entry)) continue;
    one.view.after?.(entry);
    const waiting = endsTurn(entry.type) ? one.pending.get(turn) : undefined;
    if (!waiting) continue;
    // An answer promises that the turn is kept.
    const failure = await Promise.all([waiting.session.durable(entry.seq), waiting.updates()]).then(
      () => null,
      (error: unknown) => error,
    );
    settle(one, turn, failure);
  }
  await connection.drained();
}

function settle({ pending, view }: Shown, turn: number, failure: unknown = null): void {
  const waiting = pending.get(turn);
  if (!waiting) return;
  pending.delete(turn);
  const ended = waiting.session.conversation.turns[turn];
  const answer = failure === null ? view.answer(stopReasonOf(ended), ended) : null;
  if (answer) waiting.request.reply(answer);
  else waiting.request.fail(failure ?? turnFailure(ended));
  waiting.answered();
}

/** A turn that is answered before it ended was left: its session, or its connection, was closed. */
function stopReasonOf(turn: TurnView | undefined): string {
  return turn?.ended && !turn.result?.cancelled ? (turn.stopReason ?? "end_turn") : "cancelled";
}

function turnFailure(turn: TurnView | undefined): Error {
  const { name = "AgentError", message = turn?.result?.error ?? "the turn failed" } = turn?.failure ?? {};
  return Object.assign(new Error(message), { name });
}

function place(
  deps: ConnectionSessionsDeps,
  one: Shown | undefined,
  { session, input, updates = async () => {} }: OpenedPrompt,
  request: RequestContext,
): typeof deferred {
  if (!one) throw new Error(`session ${session.id} is not open on this connection`);
  let turn: number | undefined;
  // The client takes its prompt back. One that goes away leaves the turn to the other clients.
  request.onAbort((reason) => {
    if (!isConnectionError(reason) || reason.code !== "aborted") return;
    if (turn === undefined) throw reason;
    session.cancel(turn);
  });
  turn = session.prompt({ ...input, origin: deps.origin }).turn;
  let answered = () => {};
  const done = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const send = () => updates().catch((error) => deps.onReaderError(error, session.id));
  one.pending.set(turn, { session, request, updates: send, answered, done });
  return deferred;
}

/** The turn that a prompt begins or a record ends; -1 for every other entry, because a delta's line need not be decoded for it. */
function promptTurn(entry: LogEntry<SessionEvent>): number {
  return !isLost(entry) && (entry.type === "user_message" || endsTurn(entry.type)) ? (entry.event.turn ?? -1) : -1;
}
