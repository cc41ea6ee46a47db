/** The clients connected to one session: they answer permissions, lend files, terminals and MCP servers. Kept while it is unloaded. */
import type { McpServer } from "@chimera/acp-schema/agent";
import type { AttachedClient, SessionClient } from "./session.js";
import type { ClientEffects } from "./workspace.js";

export interface Attachments {
  attach(client: SessionClient): { detach(): void };
  /** The clients that are really connected, without placeholders. */
  list(): AttachedClient[];
  /** How many can be asked for permissions. */
  approvers(): number;
  /** Effects of the newest connected client that offers any. */
  newestEffects(): ClientEffects | undefined;
  /** The servers that the newest client with any has handed over. */
  mcpServers(): readonly McpServer[];
  /** Whether a client is really connected, and not only a placeholder attached. */
  readonly isAttended: boolean;
  readonly isEmpty: boolean;
  /** Tells every client of turns that the log did not take. */
  turnsLost(error: unknown, busy: ReadonlySet<number>): void;
  /** Called when the last client that approves has left; null when nothing waits for that. */
  onDeserted(listener: (() => void) | null): void;
}

export function createAttachments(): Attachments {
  /** Each with the time it came. */
  const since = new Map<SessionClient, number>();
  let deserted: (() => void) | null = null;
  const approvers = () => [...since.keys()].filter((client) => client.approves).length;
  return {
    approvers,
    attach(client) {
      since.set(client, Date.now());
      return {
        detach() {
          if (since.delete(client) && client.approves && approvers() === 0) deserted?.();
        },
      };
    },
    list: () =>
      [...since]
        .filter(([{ absent }]) => !absent)
        .map(([{ transport = "program", name = null, approves }, at]) => ({ transport, name, approves, since: at })),
    newestEffects: () => [...since.keys()].findLast((client) => client.effects && !client.effects.gone)?.effects,
    mcpServers: () => [...since.keys()].findLast((client) => client.mcpServers)?.mcpServers?.() ?? [],
    get isAttended() {
      return [...since.keys()].some((client) => !client.absent);
    },
    get isEmpty() {
      return since.size === 0;
    },
    turnsLost(error, busy) {
      for (const client of since.keys()) client.onTurnsLost?.(error, busy);
    },
    onDeserted(listener) {
      deserted = listener;
    },
  };
}
