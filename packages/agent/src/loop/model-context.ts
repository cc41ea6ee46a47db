/** The conversation a turn starts with, in a form that every provider accepts. */
import type { CallPart, Message, Part } from "@chimera/acp-schema/events";
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import type { Turn } from "../port.js";
import type { Model, ModelMessage } from "../providers/model.js";
import { budgetTool } from "./budget.js";
import type { ModelContext } from "./run.js";

export function openModelContext(
  { history, prompt }: Pick<Turn, "history" | "prompt">,
  model: Pick<Model, "provider" | "id">,
): ModelContext {
  const messages = wellFormed(history, model);
  const turnStart = messages.length;
  messages.push({ role: "user", ...prompt });
  return { messages, turnStart, summarised: false };
}

/** Roughly: four characters to a token. */
export function estimatedTokens(messages: readonly ModelMessage[]): number {
  let characters = 0;
  for (const message of messages) {
    if (message.role === "tool") characters += message.output.length;
    else if (message.role === "assistant") for (const part of message.parts) characters += lengthOf(part);
    else characters += message.text.length;
    if (message.role === "user" && message.content) {
      for (const block of message.content) if (typeof block["text"] === "string") characters += block["text"].length;
    }
  }
  return Math.ceil(characters / 4);
}

// --- internal ---

/** Reasoning that nobody sealed is not sent. */
function lengthOf(part: Part): number {
  if (part.type === "call") return JSON.stringify(part.args).length;
  return part.type === "text" || part.seal ? part.text.length : 0;
}

/** Every call gets its result right after it, and no result stands alone: a crash may have left the log otherwise. */
function wellFormed(history: readonly Message[], model: Pick<Model, "provider" | "id">): ModelMessage[] {
  const results = new Map<string, Extract<Message, { role: "tool" }>>();
  for (const message of history) if (message.role === "tool") results.set(message.id, message);

  const messages: ModelMessage[] = [];
  for (const message of history) {
    if (message.role === "tool") continue;
    if (message.role !== "assistant") {
      messages.push(message);
      continue;
    }
    const parts = message.parts.filter((part) => part.type !== "call" || part.name !== budgetTool);
    const calls: readonly CallPart[] = callsOf({ parts });
    if (textOf({ parts }) === "" && calls.length === 0) continue;
    messages.push({ role: "assistant", parts: parts.map((part) => withOwnSeal(part, model)) });
    for (const { id, name } of calls) {
      messages.push(results.get(id) ?? { role: "tool", id, name, output: "(interrupted: no result)", success: false });
    }
  }
  return messages;
}

/** What one model sealed, another refuses or cannot read. */
function withOwnSeal(part: Part, { provider, id }: Pick<Model, "provider" | "id">): Part {
  if (!part.seal || (part.seal.provider === provider && part.seal.model === id)) return part;
  const { seal: _seal, ...bare } = part;
  return bare;
}
