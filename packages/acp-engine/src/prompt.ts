/** Prompts an engine, cancels its turn, and reads the usage from its answer. */
import type { AgentCapabilities, ContentBlock } from "@chimera/acp-schema";
import type { Turn } from "@chimera/acp-schema/agent";
import type { AgentEvent, Message, Metadata } from "@chimera/acp-schema/events";
import { endOf, startOf } from "@chimera/acp-schema/text";
import { limits } from "./limits.js";
import type { Mapper } from "./map-update.js";
import type { OpenSession } from "./open-session.js";
import { orEnded } from "./program.js";

/** Runs a turn of the engine and returns the events of its end. A program that ignores the turn's cancel for too long is killed. */
export async function promptEngine(
  { program, id, mapper }: OpenSession,
  turn: Turn,
  past: string | null,
  signal: AbortSignal,
): Promise<AgentEvent[]> {
  const { agent, ended } = program;
  const spentBefore = mapper.spent.costUsd;
  let kill: NodeJS.Timeout | undefined;
  const onCancel = () => {
    agent.cancel(id);
    kill = setTimeout(() => void program.end(), limits.cancelMs);
  };
  if (signal.aborted) onCancel();
  else signal.addEventListener("abort", onCancel, { once: true });
  try {
    const content = promptOf(turn, past, agent.about.agentCapabilities);
    const answer = await orEnded(agent.request("session/prompt", { sessionId: id, prompt: content }), ended);
    return [
      ...mapper.calls.endOpen("the engine did not report the end of this call"),
      usageOf(mapper, turn.settings.spentUsd - spentBefore, (answer as { readonly usage?: unknown }).usage),
      { type: "step_end", metadata: { step: 1 } },
      { type: "turn_end", metadata: { stop_reason: answer.stopReason } },
    ];
  } finally {
    clearTimeout(kill);
    signal.removeEventListener("abort", onCancel);
  }
}

/** The conversation as text, for an engine that does not know it: the newest messages if not all fit. Null for an empty conversation. */
export function retell(history: readonly Message[]): string | null {
  const lines: string[] = [];
  let left: number = limits.retoldChars;
  for (const message of history.toReversed()) {
    const line = lineOf(message);
    if (line === "") continue;
    if (line.length > left) {
      lines.push(`[…] ${endOf(line, left)}`);
      break;
    }
    lines.push(line);
    left -= line.length;
  }
  if (lines.length === 0) return null;
  return `${OPENING}\n\n${lines.reverse().join("\n\n")}\n\n${CLOSING}`;
}

// --- internal ---

/** The prompt with only the kinds of content that the engine can read, after the conversation so far if the engine does not know it. */
function promptOf(turn: Turn, past: string | null, { promptCapabilities: can }: AgentCapabilities): ContentBlock[] {
  const { text, content } = turn.prompt;
  const blocks = (content ?? [{ type: "text", text }]) as readonly ContentBlock[];
  const sendable = blocks.map((block): ContentBlock => {
    const isTaken =
      (block.type !== "image" || can.image) &&
      (block.type !== "audio" || can.audio) &&
      (block.type !== "resource" || can.embeddedContext);
    if (isTaken) return block;
    const inner = (block as { resource?: { text?: unknown } }).resource?.text;
    return {
      type: "text",
      text: typeof inner === "string" ? inner : `[${block.type} left out, because this agent cannot read it]`,
    };
  });
  return past === null ? sendable : [{ type: "text", text: past }, ...sendable];
}

/**
 * The usage after a turn. An engine counts the cost of its own session, and the log counts the cost of our session.
 *
 * @param base - Our cost minus the engine's at the turn's start.
 */
function usageOf(mapper: Mapper, base: number, usage: unknown): AgentEvent {
  const { costUsd, isPriced, used, size } = mapper.spent;
  const counted = (usage ?? {}) as Readonly<Record<string, unknown>>;
  const count = (name: string) =>
    Number.isSafeInteger(counted[name]) && Number(counted[name]) >= 0 ? Number(counted[name]) : 0;
  const metadata: Metadata<"usage"> = {
    input: count("inputTokens"),
    output: count("outputTokens"),
    cache: count("cachedReadTokens"),
    reasoning: count("thoughtTokens"),
    total_usd: Math.max(0, base + costUsd),
    priced: isPriced,
    used,
    size,
  };
  return { type: "usage", metadata };
}

const OPENING = "This conversation began in a session that no longer exists. Its messages and tool calls so far:";
const CLOSING = "End of the conversation so far. Continue with the following request:";
const TOOL_CHARS = 200;

function lineOf(message: Message): string {
  switch (message.role) {
    case "user":
      return `User: ${message.text}`;
    case "summary":
      return `Summary of what came before: ${message.text}`;
    case "tool":
      return `[${message.name}${message.success ? "" : " failed"}: ${startOf(message.output.replace(/\s+/g, " "), TOOL_CHARS)}]`;
    case "assistant": {
      const said = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      return said === "" ? "" : `Assistant: ${said}`;
    }
  }
}
