/** Endings of replies that only some servers know. A reply that failed at its end must not pass for a good one. */
import { AgentError } from "../errors.js";
import type { ModelStop } from "./model.js";

/** What an ending means that is not among a wire's own; throws what it reports as an error. An ending nobody knows is an end. */
export function oddEnding(reason: unknown): ModelStop {
  const name = typeof reason === "string" ? reason.toLowerCase() : "";
  if (REFUSED.has(name)) return "refusal";
  if (FULL.has(name)) throw new AgentError("context_overflow", "the reply filled the model's context window");
  if (FAILED.has(name)) throw new AgentError("provider_failed", `the provider ended the reply with ${reason}`);
  return "end";
}

// --- internal ---

/** z.ai's filter, https://docs.z.ai/api-reference/llm/chat-completion, and Bedrock's. */
const REFUSED: ReadonlySet<string> = new Set(["sensitive", "content_filtered", "guardrail_intervened"]);

/** Claude from 4.5 on and z.ai, https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons; Mistral's word is the last. */
const FULL: ReadonlySet<string> = new Set(["model_context_window_exceeded", "model_length"]);

/** z.ai, OpenRouter (https://openrouter.ai/docs/api-reference/overview), DeepSeek (https://api-docs.deepseek.com/api/create-chat-completion). */
const FAILED: ReadonlySet<string> = new Set([
  "network_error",
  "error",
  "insufficient_system_resource",
  "abort",
  "aborted",
  "timeout",
  "server_error",
]);
