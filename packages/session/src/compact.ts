/** `/compact`: the agent sums the conversation up, and later turns see the summary in its place. */
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { Agent } from "./agent-port.js";

const PROMPT = `Summarize this conversation for the agent that continues it: what the person wants, decisions and their \
reasons, files read or changed and what matters in them, commands and their outcome, what is still open. Be brief and exact.`;

export function compacting(main: Agent): Agent {
  return async function* compact(turn, context) {
    const said: string[] = [];
    let failed = false;
    let ending: AgentEvent | null = null;
    // Nothing is to be done, only told.
    const settings = { ...turn.settings, allowedTools: [], mcpServers: [], readOnly: true };
    for await (const event of main({ ...turn, prompt: { text: PROMPT }, settings }, context)) {
      if (event.type === "text_delta") said.push(event.metadata.text);
      if (event.type === "error") failed = true;
      if (event.type === "agent_result" || event.type === "cancelled") ending = event;
      else yield event;
    }
    const summary = said.join("").trim();
    if (!failed && !context.signal.aborted && summary) {
      yield { type: "compaction", metadata: { summary, from_turn: turn.number + 1 } };
    }
    if (ending) yield ending;
  };
}
