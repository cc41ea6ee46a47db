/** The agent of an engine. Its code is half of the program's, so it comes after the first session was answered for, not with it. */
import type { Tool } from "@chimera/agent";
import { type CodingAgent, opening } from "@chimera/agent/agents";
import type { Agent } from "@chimera/session";
import { whenWanted } from "./when-wanted.js";

export interface TurnAgent {
  readonly agent: Agent;
  /** A session is open, so a turn may come: loads its code once the session was answered for and nobody waits. */
  expectTurn(): void;
  /** The built-in tools and those of extensions. */
  tools(): Promise<readonly Tool[]>;
  closeSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

export function createTurnAgent(load: () => Promise<unknown>, open: () => Promise<CodingAgent>): TurnAgent {
  const coding = whenWanted(open);
  let expected: NodeJS.Timeout | undefined;
  return {
    agent: (turn, context) => {
      clearTimeout(expected);
      return opening(async () => ({ first: [], rest: (await coding.get()).agent(turn, context) }));
    },
    expectTurn() {
      // What cannot be loaded fails the turn that needs it, and a program that is done does not stay for this.
      expected ??= setTimeout(() => load().catch(() => {}), QUIET_MS).unref();
    },
    tools: async () => (await coding.get()).tools,
    closeSession: async (id) => (await coding.opened())?.closeSession(id),
    close: async () => {
      clearTimeout(expected);
      await (await coding.opened())?.close();
    },
  };
}

// --- internal ---

/** An editor opens a session and asks about it at once; a person takes longer to write a prompt. */
const QUIET_MS = 100;
