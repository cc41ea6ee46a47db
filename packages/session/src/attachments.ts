/** The clients connected to sessions: they answer permissions, lend files, terminals and MCP servers. Kept while a session is unloaded. */
import type { SessionClient } from "./session.js";

/** The clients of one session. */
export type Attachments = ReturnType<typeof createAttachments>;

/** The clients of sessions by id: an editor stays attached to a session that is unloaded. */
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
    /** @param isKept whether the session is in memory: then it keeps its own. */
    attach(id: string, client: SessionClient, isKept: () => boolean) {
      const { detach } = of(id).attach(client);
      return {
        detach() {
          detach();
          if (!isKept()) sweep(id);
        },
      };
    },
    /** Forgets a session without clients. */
    sweep,
  };
}

// --- internal ---

function createAttachments() {
  /** Each with the time it came. */
  const since = new Map<SessionClient, number>();
  let deserted: (() => void) | null = null;
  const approvers = () => [...since.keys()].filter((client) => client.approves).length;
  return {
    /** How many can be asked for permissions. */
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
    /** The servers that the newest client with any has handed over. */
    mcpServers: () => [...since.keys()].findLast((client) => client.mcpServers)?.mcpServers?.() ?? [],
    /** Whether a client is really connected, and not only a placeholder attached. */
    get isAttended() {
      return [...since.keys()].some((client) => !client.absent);
    },
    get isEmpty() {
      return since.size === 0;
    },
    /** Tells every client of turns that the log did not take. */
    turnsLost(error: unknown, busy: ReadonlySet<number>) {
      for (const client of since.keys()) client.onTurnsLost?.(error, busy);
    },
    /** Called when the last client that approves has left; null when nothing waits for that. */
    onDeserted(listener: (() => void) | null) {
      deserted = listener;
    },
  };
}
