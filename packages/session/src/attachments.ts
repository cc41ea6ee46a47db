/** The clients of sessions: they answer permission requests, and lend files, terminals and MCP servers. */
import type { SessionClient } from "./session.js";

/** The clients of one session. */
export type Attachments = ReturnType<typeof createAttachments>;

/** The clients of every session, by the session's id. A client stays attached while its session is unloaded. */
export function createClients() {
  const byId = new Map<string, Attachments>();
  const of = (id: string): Attachments => {
    const known = byId.get(id) ?? createAttachments();
    byId.set(id, known);
    return known;
  };
  const sweep = (id: string): void => {
    if (byId.get(id)?.isEmpty) byId.delete(id);
  };
  return {
    of,
    known: (id: string) => byId.get(id),
    /** @param isLoaded whether the session is loaded: then its list is kept even if it is empty */
    attach(id: string, client: SessionClient, isLoaded: () => boolean) {
      const { detach } = of(id).attach(client);
      return {
        detach() {
          detach();
          if (!isLoaded()) sweep(id);
        },
      };
    },
    /** Forgets a session that has no clients. */
    sweep,
  };
}

// --- internal ---

function createAttachments() {
  /** Each client with the time at which it attached. */
  const since = new Map<SessionClient, number>();
  let deserted: (() => void) | null = null;
  const approvers = () => [...since.keys()].filter((client) => client.approves).length;
  return {
    /** How many clients can be asked for permissions. */
    approvers,
    attach(client: SessionClient) {
      since.set(client, Date.now());
      return {
        detach() {
          if (since.delete(client) && client.approves && approvers() === 0) deserted?.();
        },
      };
    },
    /** The clients that are really connected, without placeholders. */
    list: () =>
      [...since]
        .filter(([{ absent }]) => !absent)
        .map(([{ transport = "program", name = null, approves }, at]) => ({ transport, name, approves, since: at })),
    /** Effects of the newest connected client that offers any. */
    newestEffects: () => [...since.keys()].findLast((client) => client.effects && !client.effects.gone)?.effects,
    /** The MCP servers of the newest client that lends any. */
    mcpServers: () => [...since.keys()].findLast((client) => client.mcpServers)?.mcpServers?.() ?? [],
    /** Whether a client is really connected, and not only a placeholder attached. */
    get isAttended() {
      return [...since.keys()].some((client) => !client.absent);
    },
    get isEmpty() {
      return since.size === 0;
    },
    /** Reports turns whose prompt could not be written to the log. */
    turnsLost(error: unknown, busy: ReadonlySet<number>) {
      for (const client of since.keys()) client.onTurnsLost?.(error, busy);
    },
    /** Sets the function to call when the last client that approves has left. Null removes it. */
    onDeserted(listener: (() => void) | null) {
      deserted = listener;
    },
  };
}
