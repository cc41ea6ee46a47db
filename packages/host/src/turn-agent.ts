/** The agent of an engine. Its code is half of the program's, so it comes with the first turn and not with the first session. */
import type { Tool } from "@chimera/agent";
import { type CodingAgent, opening } from "@chimera/agent/agents";
import type { Agent } from "@chimera/session";

export interface TurnAgent {
  readonly agent: Agent;
  /** The built-in tools and those of extensions. */
  tools(): Promise<readonly Tool[]>;
  closeSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

export function createTurnAgent(open: () => Promise<CodingAgent>): TurnAgent {
  let loading: Promise<CodingAgent> | undefined;
  const load = (): Promise<CodingAgent> => {
    loading ??= open().catch((error) => {
      // The next turn tries again: what was missing may be there by then.
      loading = undefined;
      throw error;
    });
    return loading;
  };
  /** Who ends something has nothing to end where none came to be; the turn that wanted it was told why. */
  const loaded = async (): Promise<CodingAgent | undefined> => loading?.catch(() => undefined);
  return {
    agent: (turn, context) => opening(async () => ({ first: [], rest: (await load()).agent(turn, context) })),
    tools: async () => (await load()).tools,
    closeSession: async (id) => (await loaded())?.closeSession(id),
    close: async () => (await loaded())?.close(),
  };
}
