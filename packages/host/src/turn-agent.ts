/** The agent of an engine. Its code is half of the program's, so it comes with the first turn and not with the first session. */
import type { Tool } from "@chimera/agent";
import { type CodingAgent, opening } from "@chimera/agent/agents";
import type { Agent } from "@chimera/session";
import { whenWanted } from "./when-wanted.js";

export interface TurnAgent {
  readonly agent: Agent;
  /** The built-in tools and those of extensions. */
  tools(): Promise<readonly Tool[]>;
  closeSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

export function createTurnAgent(open: () => Promise<CodingAgent>): TurnAgent {
  const coding = whenWanted(open);
  return {
    agent: (turn, context) => opening(async () => ({ first: [], rest: (await coding.get()).agent(turn, context) })),
    tools: async () => (await coding.get()).tools,
    closeSession: async (id) => (await coding.opened())?.closeSession(id),
    close: async () => (await coding.opened())?.close(),
  };
}
