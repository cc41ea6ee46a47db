/**
 * The sessions one connection has open. Each is a reader of the log; a prompt is answered by that reader when it passes the
 * last record of its turn, which is why every update comes before the reply and none after.
 */
import { endsTurn, isLost, type SessionEvent } from "@chimera/acp-schema/events";
import type { Entry, LogEntry, Subscription } from "@chimera/event-store";
import { type Connection, deferred, isConnectionError, type RequestContext } from "@chimera/ndjson-rpc";
import type { Attachment, PromptInput, Session, Sessions } from "@chimera/session";
import type { SessionView, ViewOf } from "./view.js";

export interface OpenSessions {
  /** Shows a session's records after `from` (default: its head) from here on. Opening it again changes nothing. */
  open(session: Session, view: ViewOf, options: OpenOptions): void;
  /** Sends a prompt once its session is open; the request is answered when the turn has passed and `updates` have gone out. */
  prompt(id: string, request: RequestContext, opening: () => Promise<OpenedPrompt>): Promise<typeof deferred>;
  /** Resolves when the prompts sent so far have their place in the queue. A cancel that did not wait could overtake its prompt. */
  arrived(id: string): Promise<void>;
  /** Lets what a closed session still has to say go out, and stops reading it. */
  finish(id: string): Promise<void>;
  closeAll(): void;
}

export interface OpenOptions {
  readonly from?: number;
  /** Called when it was unloaded, because nobody used it, and somebody loads it again: opens it anew. */
  readonly again: (session: Session) => void;
}

/** A prompt and the open session it is for. */
export interface OpenedPrompt {
  readonly session: Session;
  readonly input: PromptInput;
  readonly updates?: Promise<void>;
}

interface Pending {
  readonly request: RequestContext;
  /** What else has to be told before the answer. */
  readonly updates: Promise<void>;
  answered(): void;
  readonly done: Promise<void>;
}

interface Opened {
  readonly session: Session;
  readonly view: SessionView;
  readonly attachment: Attachment;
  readonly pending: Map<number, Pending>;
  subscription: Subscription | null;
}

/** How long the last updates of a closed session may take to reach the client. */
const FINISH_MS = 1000;

export function createOpenSessions(deps: {
  readonly connection: () => Connection;
  /** Set for a connection that speaks for others; several people may watch behind it, so it is shown its own prompts too. */
  readonly origin: string | undefined;
  readonly sessions: () => Promise<Pick<Sessions, "onLoad">>;
  readonly onError: (error: unknown, sessionId: string) => void;
}): OpenSessions {
  const opened = new Map<string, Opened>();
  /** Unloaded while they were open here. Nothing is read, and little is kept, until somebody loads them again. */
  const asleep = new Map<string, OpenOptions["again"]>();
  /** Prompts whose session is still being opened, by its id. */
  const arriving = new Map<string, Promise<unknown>>();
  let listening: Promise<() => void> | null = null;
  let gone = false;

  const listen = async () => {
    const sessions = await deps.sessions();
    return sessions.onLoad((session) => {
      const again = asleep.get(session.id);
      asleep.delete(session.id);
      again?.(session);
    });
  };

  const settle = ({ pending, view }: Opened, turn: number, failure: unknown = null) => {
    const waiting = pending.get(turn);
    if (!waiting) return;
    pending.delete(turn);
    const answer = failure === null ? view.answer(turn) : { error: failure };
    if ("result" in answer) waiting.request.reply(answer.result);
    else waiting.request.fail(answer.error);
    waiting.answered();
  };

  const deliver = async (open: Opened, batch: readonly LogEntry<SessionEvent>[]): Promise<void> => {
    const connection = deps.connection();
    for (const entry of batch) {
      const turn = isLost(entry) ? null : promptTurn(entry);
      const own = turn !== null && deps.origin === undefined && open.pending.has(turn);
      for (const line of open.view.frames(entry, own)) connection.notifyEncoded(line);
      if (isLost(entry)) continue;
      open.view.after?.(entry);
      if (turn === null || !endsTurn(entry.type)) continue;
      const waiting = open.pending.get(turn);
      if (!waiting) continue;
      // An answer promises that the turn is kept.
      const failure = await Promise.all([open.session.durable(entry.seq), waiting.updates]).then(
        () => null,
        (error: unknown) => error,
      );
      settle(open, turn, failure);
    }
    await connection.drained();
  };

  const place = (
    { session, input, updates = Promise.resolve() }: OpenedPrompt,
    request: RequestContext,
  ): typeof deferred => {
    const told = updates.catch((error) => deps.onError(error, session.id));
    const open = opened.get(session.id);
    if (!open) throw new Error(`session ${session.id} is not open on this connection`);
    if (isWithdrawn(request.signal)) throw request.signal.reason;
    const { turn } = session.prompt({ ...input, origin: deps.origin });
    let answered = () => {};
    const done = new Promise<void>((resolve) => {
      answered = resolve;
    });
    open.pending.set(turn, { request, updates: told, answered, done });
    request.signal.addEventListener("abort", () => {
      if (isWithdrawn(request.signal)) session.cancelTurn(turn);
    });
    return deferred;
  };

  const close = (id: string) => {
    asleep.delete(id);
    const open = opened.get(id);
    if (!open) return;
    opened.delete(id);
    open.subscription?.close();
    open.attachment.detach();
    open.view.close?.();
    for (const turn of [...open.pending.keys()]) settle(open, turn);
  };

  return {
    open(session, viewOf, { from = session.lastSeq, again }) {
      // What the client asked for last may come to life after it has left.
      if (gone || opened.get(session.id)?.session === session) return;
      close(session.id);
      listening ??= listen();
      const view = viewOf(session);
      const pending = new Map<number, Pending>();
      const attachment = session.attach({
        approves: true,
        ...(view.effects && { effects: view.effects }),
        onTurnsLost(error, busy) {
          for (const turn of [...pending.keys()].filter((candidate) => !busy.has(candidate))) settle(open, turn, error);
        },
      });
      const open: Opened = { session, view, attachment, pending, subscription: null };
      opened.set(session.id, open);
      open.subscription = session.subscribe({ from }, (batch) => deliver(open, batch));
      open.subscription.ended.catch((error) => deps.onError(error, session.id));
      void session.ended.then(() => {
        const isOver = pending.size === 0 && (open.subscription?.cursor ?? 0) >= session.lastSeq;
        if (opened.get(session.id) !== open || !isOver) return;
        close(session.id);
        asleep.set(session.id, again);
      });
    },
    prompt(id, request, opening) {
      const before = arriving.get(id);
      const placing = opening().then(async (prompt): Promise<typeof deferred> => {
        // Prompts run in the order they were sent, whichever of them was ready first.
        if (before) await before;
        return place(prompt, request);
      });
      const settled = Promise.allSettled([before, placing]);
      arriving.set(id, settled);
      void settled.then(() => arriving.get(id) === settled && arriving.delete(id));
      return placing;
    },
    arrived: async (id) => void (await arriving.get(id)),
    async finish(id) {
      const waiting = [...(opened.get(id)?.pending.values() ?? [])].map(({ done }) => done);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, FINISH_MS);
      });
      await Promise.race([Promise.all(waiting), late]);
      clearTimeout(timer);
      close(id);
    },
    closeAll() {
      gone = true;
      for (const id of [...opened.keys()]) close(id);
      asleep.clear();
      void listening?.then((stop) => stop());
    },
  };
}

// --- internal ---

/** Only the records of a prompt's life are asked for their turn: a delta's line need not be decoded for it. */
function promptTurn(entry: Entry<SessionEvent>): number | null {
  return entry.type === "user_message" || endsTurn(entry.type) ? entry.event.turn : null;
}

/** The client took its prompt back; one that went away leaves the turn to whoever else watches. */
function isWithdrawn({ reason }: AbortSignal): boolean {
  return isConnectionError(reason) && reason.code === "aborted";
}
