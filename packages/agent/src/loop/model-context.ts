/** The conversation a turn starts with, in a form that every provider accepts. */
import type { Message } from "@chimera/acp-schema/events";
import type { Turn } from "../port.js";
import type { ModelMessage } from "../providers/model.js";
import { budgetTool } from "./budget.js";
import type { ModelContext } from "./run.js";

export function openModelContext({ history, prompt }: Pick<Turn, "history" | "prompt">): ModelContext {
  const messages = wellFormed(history);
  const turnStart = messages.length;
  messages.push({ role: "user", ...prompt });
  return { messages, turnStart, summarised: false };
}

/** Roughly: four characters to a token. */
export function estimatedTokens(messages: readonly ModelMessage[]): number {
  let characters = 0;
  for (const message of messages) {
    if (message.role === "tool") characters += message.output.length;
    else characters += message.text.length;
    if (message.role === "assistant") for (const use of message.tools) characters += JSON.stringify(use.args).length;
    if (message.role === "user" && message.content) {
      for (const block of message.content) if (typeof block["text"] === "string") characters += block["text"].length;
    }
  }
  return Math.ceil(characters / 4);
}

// --- internal ---

/** Every call gets its result right after it, and no result stands alone: a crash may have left the log otherwise. */
function wellFormed(history: readonly Message[]): ModelMessage[] {
  const results = new Map<string, Extract<Message, { role: "tool" }>>();
  for (const message of history) if (message.role === "tool") results.set(message.id, message);

  const messages: ModelMessage[] = [];
  for (const message of history) {
    if (message.role === "tool") continue;
    if (message.role !== "assistant") {
      messages.push(message);
      continue;
    }
    const tools = message.tools.filter((use) => use.name !== budgetTool);
    if (!message.text && tools.length === 0) continue;
    messages.push({ ...message, tools });
    for (const { id, name } of tools) {
      messages.push(results.get(id) ?? { role: "tool", id, name, output: "(interrupted: no result)", success: false });
    }
  }
  return messages;
}
