/** Builds a prompt for an engine, and reads the usage from its answer. */
import type { McpServer as AcpMcpServer, AgentCapabilities, ContentBlock } from "@chimera/acp-schema";
import type { McpServer, Turn } from "@chimera/acp-schema/agent";
import type { AgentEvent, Message, Metadata } from "@chimera/acp-schema/events";
import { endOf, startOf } from "@chimera/acp-schema/text";
import { limits } from "./limits.js";
import type { Mapper } from "./map-update.js";

/** The prompt with only the kinds of content that the engine can read, after the conversation so far if the engine does not know it. */
export function promptOf(
  turn: Turn,
  past: string | null,
  { promptCapabilities: can }: AgentCapabilities,
): ContentBlock[] {
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

/** The MCP servers that the engine can connect to. */
export function serversFor(servers: readonly McpServer[], { mcpCapabilities: can }: AgentCapabilities): AcpMcpServer[] {
  const pairs = (record: Readonly<Record<string, string>>) =>
    Object.entries(record).map(([name, value]) => ({ name, value }));
  return servers.flatMap((server): AcpMcpServer[] => {
    if (server.type === "stdio") {
      const { name, command, args, env } = server;
      return [{ name, command, args: [...args], env: pairs(env) } as AcpMcpServer];
    }
    const { type, name, url, headers } = server;
    return can[type] ? [{ type, name, url, headers: pairs(headers) } as AcpMcpServer] : [];
  });
}

/**
 * The usage after a turn. An engine counts the cost of its own session, and the log counts the cost of our session.
 *
 * @param base - Our cost minus the engine's at the turn's start.
 */
export function usageOf(mapper: Mapper, base: number, usage: unknown): AgentEvent {
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
