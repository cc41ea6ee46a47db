/**
 * The sessions one connection has open. Each is a reader of the log; a prompt is answered by that reader when it passes the
 * last record of its turn, which is why every update comes before the reply and none after.
 */
import { endsTurn, type SessionEvent } from "@chimera/acp-schema/events";
import type { Entry, Subscription } from "@chimera/event-store";
import type { Connection, RequestContext } from "@chimera/ndjson-rpc";
import type { Attachment, ClientEffects, PromptInput, Session } from "@chimera/session";
import type { SessionView } from "./dialect.js";

export interface OpenSessions {
  /** Opens, or returns as it is open: records after `from` (default: the head) are shown from here on. */
  open(session: Session, view: (session: Session) => SessionView, options?: { from?: number }): void;
  get(id: string): Session | undefined;
  /** Sends a prompt whose request is answered when its turn has passed. */
  prompt(session: Session, input: PromptInput, request: RequestContext): void;
  close(id: string): void;
  closeAll(): void;
}

interface Opened {
  readonly session: Session;
  readonly view: SessionView;
  readonly attachment: Attachment;
  subscription: Subscription | null;
  readonly pending: Map<number, RequestContext>;
}

export function createOpenSessions(deps: {
  readonly connection: () => Connection;
  readonly effects: (session: Session) => ClientEffects | undefined;
  readonly onError: (error: unknown, sessionId: string) => void;
}): OpenSessions {
  const opened = new Map<string, Opened>();

  const settle = (entry: Opened, turn: number) => {
    const request = entry.pending.get(turn);
    if (!request) return;
    entry.pending.delete(turn);
    const answer = entry.view.answer(turn);
    if ("result" in answer) request.reply(answer.result);
    else request.fail(answer.error);
  };

  const deliver = (open: Opened, batch: readonly Entry<SessionEvent>[]): void | Promise<void> => {
    const connection = deps.connection();
    for (const entry of batch) {
      const turn = turnOf(entry);
      for (const line of open.view.frames(entry, turn !== null && open.pending.has(turn))) connection.notifyEncoded(line);
      open.view.after?.(entry);
      if (turn !== null && endsTurn(entry.type)) settle(open, turn);
    }
    return connection.bufferedBytes > 0 ? connection.drained() : undefined;
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
    open(session, view, options = {}) {
      const present = opened.get(session.id);
      if (present?.session === session) return;
      close(session.id);
      const effects = deps.effects(session);
      const open: Opened = {
        session,
        view: view(session),
        attachment: session.attach({ approves: true, ...(effects && { effects }) }),
        subscription: null,
        pending: new Map(),
      };
      opened.set(session.id, open);
      open.subscription = session.subscribe({ from: options.from ?? session.lastSeq }, (batch) => deliver(open, batch));
      open.subscription.ended.catch((error) => deps.onError(error, session.id));
    },
    get: (id) => opened.get(id)?.session,
    prompt(session, input, request) {
      const open = opened.get(session.id);
      if (!open) throw new Error(`session ${session.id} is not open on this connection`);
      const { turn } = session.prompt(input);
      open.pending.set(turn, request);
    },
    close,
    closeAll() {
      for (const id of [...opened.keys()]) close(id);
    },
  };
}

// --- internal ---

/** The turn of a delta is not worth decoding its line for: only the records of a prompt's life are asked. */
function turnOf(entry: Entry<SessionEvent>): number | null {
  return entry.type === "user_message" || endsTurn(entry.type) ? entry.event.turn : null;
}
