/** The agent of a program, loaded when a turn is near. */
import type { Agent } from "@chimera/acp-schema/agent";
import { type CodingAgent, opening } from "@chimera/agent/agents";
import { lazily } from "./lazily.js";

/** How long the loading waits: an editor asks about a new session at once, while a person takes longer to write a prompt. */
const QUIET_MS = 100;

/** The agent. Its code is half of the program's, so it is loaded after the first session was answered for, not with it. */
export function createTurnAgent(load: () => Promise<unknown>, open: () => Promise<CodingAgent>) {
  const coding = lazily(open);
  let expected: NodeJS.Timeout | undefined;
  const agent: Agent = (turn, context) => {
    clearTimeout(expected);
    return opening(async () => ({ first: [], rest: (await coding.get()).agent(turn, context) }));
  };
  return {
    agent,
    /** A session was opened, so a turn may follow: loads the agent's code once the client has its answer. */
    expectTurn() {
      // A failure to load shows in the turn that needs it. The timer keeps no finished program alive.
      expected ??= setTimeout(() => load().catch(() => {}), QUIET_MS).unref();
    },
    /** The built-in tools and those of extensions. */
    tools: async () => (await coding.get()).tools,
    untrusted: async (cwd: string) => (await coding.get()).untrusted(cwd),
    closeSession: async (id: string) => (await coding.opened())?.closeSession(id),
    close: async () => {
      clearTimeout(expected);
      await (await coding.opened())?.close();
    },
  };
}
