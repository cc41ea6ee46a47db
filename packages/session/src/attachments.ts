/** Whoever is connected to a session: whom to ask, whose files and terminal to use, whom to tell. */
import type { Attachment, SessionClient } from "./session.js";
import type { ClientEffects } from "./workspace.js";

export interface Attachments {
  attach(client: SessionClient): Attachment;
  /** How many can be asked for permissions. */
  approvers(): number;
  /** Of the one that came last, of those that lend any and are still there. */
  effects(): ClientEffects | undefined;
  /** Whether one is there itself. */
  readonly attended: boolean;
  turnsLost(error: unknown, busy: ReadonlySet<number>): void;
}

/** @param onNobodyToAsk called when the last one that approves has left. */
export function createAttachments(onNobodyToAsk: () => void): Attachments {
  const clients = new Set<SessionClient>();
  const approvers = () => [...clients].filter((client) => client.approves).length;
  return {
    approvers,
    attach(client) {
      clients.add(client);
      return {
        detach() {
          if (clients.delete(client) && client.approves && approvers() === 0) onNobodyToAsk();
        },
      };
    },
    effects: () => [...clients].findLast((client) => client.effects && !client.effects.gone)?.effects,
    get attended() {
      return [...clients].some((client) => !client.absent);
    },
    turnsLost(error, busy) {
      for (const client of clients) client.onTurnsLost?.(error, busy);
    },
  };
}
