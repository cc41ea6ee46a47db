/**
 * The sessions one connection has open. Each is a reader of the log; a prompt is answered by that reader when it passes the
 * last record of its turn, which is why every update comes before the reply and none after.
 */
import { endsTurn, type SessionEvent } from "@chimera/acp-schema/events";
import type { Entry, Subscription } from "@chimera/event-store";
import type { Connection, RequestContext } from "@chimera/ndjson-rpc";
import type { Attachment, PromptInput, Session } from "@chimera/session";
import type { SessionView, ViewOf } from "./view.js";

export interface OpenSessions {
  /** Shows a session's records after `from` (default: its head) from here on. Opening it again changes nothing. */
  open(session: Session, view: ViewOf, options?: { readonly from?: number }): void;
  get(id: string): Session | undefined;
  /** Sends a prompt to an open session; its request is answered when its turn has passed. */
  prompt(session: Session, input: PromptInput, request: RequestContext): void;
  close(id: string): void;
  closeAll(): void;
}

interface Opened {
  readonly session: Session;
  readonly view: SessionView;
  readonly attachment: Attachment;
  readonly pending: Map<number, RequestContext>;
  subscription: Subscription | null;
}

export function createOpenSessions(deps: {
  readonly connection: () => Connection;
  /** Set for a connection that speaks for others; several people may watch behind it, so it is shown its own prompts too. */
  readonly origin: string | undefined;
  readonly onError: (error: unknown, sessionId: string) => void;
}): OpenSessions {
  const opened = new Map<string, Opened>();

  const settle = (open: Opened, turn: number) => {
    const request = open.pending.get(turn);
    if (!request) return;
    open.pending.delete(turn);
    const answer = open.view.answer(turn);
    if ("result" in answer) request.reply(answer.result);
    else request.fail(answer.error);
  };

  const deliver = (open: Opened, batch: readonly Entry<SessionEvent>[]): Promise<void> => {
    const connection = deps.connection();
    for (const entry of batch) {
      const turn = promptTurn(entry);
      const own = turn !== null && deps.origin === undefined && open.pending.has(turn);
      for (const line of open.view.frames(entry, own)) connection.notifyEncoded(line);
      open.view.after?.(entry);
      if (turn !== null && endsTurn(entry.type)) settle(open, turn);
    }
    return connection.drained();
  };

  const close = (id: string) => {
    const open = opened.get(id);
    if (!open) return;
    opened.delete(id);
    open.subscription?.close();
    open.attachment.detach();
    open.view.close?.();
  };

  return {
    open(session, viewOf, options = {}) {
      if (opened.get(session.id)?.session === session) return;
      close(session.id);
      const view = viewOf(session);
      const attachment = session.attach({ approves: true, ...(view.effects && { effects: view.effects }) });
      const open: Opened = { session, view, attachment, pending: new Map(), subscription: null };
      opened.set(session.id, open);
      open.subscription = session.subscribe({ from: options.from ?? session.lastSeq }, (batch) => deliver(open, batch));
      open.subscription.ended.catch((error) => deps.onError(error, session.id));
    },
    get: (id) => opened.get(id)?.session,
    prompt(session, input, request) {
      const open = opened.get(session.id);
      if (!open) throw new Error(`session ${session.id} is not open on this connection`);
      const { turn } = session.prompt(deps.origin === undefined ? input : { ...input, origin: deps.origin });
      open.pending.set(turn, request);
    },
    close,
    closeAll() {
      for (const id of [...opened.keys()]) close(id);
    },
  };
}

// --- internal ---

/** Only the records of a prompt's life are asked for their turn: a delta's line need not be decoded for it. */
function promptTurn(entry: Entry<SessionEvent>): number | null {
  return entry.type === "user_message" || endsTurn(entry.type) ? entry.event.turn : null;
}
