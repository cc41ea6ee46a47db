/** The conversation a turn starts with, in a form that every provider accepts. */
import type { Turn } from "@chimera/acp-schema/agent";
import type { CallPart, Message, Part } from "@chimera/acp-schema/events";
import { callsOf, textOf } from "@chimera/acp-schema/parts";
import type { Model, ModelMessage } from "../providers/model.js";
import type { ModelContext } from "./run.js";
import { framed } from "./summary.js";
import { questions } from "./turn.js";

export function openModelContext(
  turn: Pick<Turn, "history" | "prompt" | "number" | "seen" | "compact">,
  model: ModelName,
): ModelContext {
  const messages = wellFormed(turn.history, model);
  const prompts = messages.filter((message) => message.role === "user");
  const { seen = [] } = turn;
  const numbers = new Map<ModelMessage, number>();
  // A number that belonged to another prompt would make the log say what did not happen.
  if (prompts.length === seen.length)
    for (const [at, prompt] of prompts.entries()) numbers.set(prompt, seen[at] as number);
  const accepted = messages.length;
  if (!turn.compact) {
    const prompt: ModelMessage = { role: "user", ...turn.prompt };
    numbers.set(prompt, turn.number);
    messages.push(prompt);
  }
  return { messages, numbers, accepted };
}

// --- internal ---

type ModelName = Pick<Model, "provider" | "id">;

/** Every call gets its result right after it, and no result stands alone: a crash may have left the log otherwise. */
function wellFormed(history: readonly Message[], model: ModelName): ModelMessage[] {
  const results = new Map<string, Extract<Message, { role: "tool" }>>();
  for (const message of history) if (message.role === "tool") results.set(message.id, message);

  const messages: ModelMessage[] = [];
  for (const message of history) {
    if (message.role === "tool") continue;
    if (message.role !== "assistant") {
      messages.push(message.role === "summary" ? { ...message, text: framed(message.text) } : message);
      continue;
    }
    const parts = message.parts.filter((part) => part.type !== "call" || !questions.has(part.name));
    const calls: readonly CallPart[] = callsOf({ parts });
    if (calls.length === 0 && textOf({ parts }) === "") continue;
    const begun = beginningOf(messages.at(-1));
    if (begun) messages.pop();
    const own = parts.map((part) => withOwnSeal(part, model));
    const isAsLogged = !begun && own.length === message.parts.length && own.every((part, at) => part === parts[at]);
    // The message itself where it can be: what is known of its length is known by it.
    messages.push(isAsLogged ? message : { role: "assistant", parts: [...(begun ?? []), ...own] });
    for (const { id, name } of calls) {
      messages.push(results.get(id) ?? { role: "tool", id, name, output: "(interrupted: no result)", success: false });
    }
  }
  return messages;
}

/** Of a reply that broke off and was gone on with, what was said: its reasoning goes back only with what came of it. */
function beginningOf(previous: ModelMessage | undefined): Part[] | null {
  if (previous?.role !== "assistant") return null;
  return previous.parts.flatMap((part) => (part.type === "text" ? [{ type: "text", text: part.text }] : []));
}

/** What one model sealed, another refuses or cannot read. */
function withOwnSeal(part: Part, { provider, id }: ModelName): Part {
  if (!part.seal || (part.seal.provider === provider && part.seal.model === id)) return part;
  const { seal: _seal, ...bare } = part;
  return bare;
}
