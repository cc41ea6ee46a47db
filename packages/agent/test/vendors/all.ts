/** Every vendor format that has a strict server, and the environment that a person would set in addition to the key. */
import { createChatVendor, deepseek, geminiChat, openaiChat, openrouter, refusingTools } from "./chat-completions.js";
import { createClaude } from "./claude.js";
import { createGemini } from "./gemini.js";
import { createOllama } from "./ollama.js";
import { createAzure, createResponses } from "./openai-responses.js";
import type { Vendor } from "./vendor.js";

export interface VendorRow {
  readonly name: string;
  create(): Vendor;
  readonly env?: Readonly<Record<string, string>>;
}

const high = { CHIMERA_THINKING_LEVEL: "high" };

/** A model that refuses tools at the chat endpoint, with the endpoint that it wants. */
export function createMovedModel(model: string): Vendor {
  return createResponses({ model, elsewhere: createChatVendor(refusingTools(model)) });
}

export const vendors: readonly VendorRow[] = [
  { name: "Claude, thinking by itself", create: () => createClaude() },
  { name: "Claude, thinking within an effort", create: () => createClaude(), env: high },
  {
    name: "Claude, thinking within a budget",
    create: () => createClaude({ model: "claude-haiku-4-5", thinking: "enabled", maxOutput: 64_000 }),
    env: high,
  },
  { name: "OpenAI, a model that moved to Responses", create: () => createMovedModel("gpt-5.6-sol") },
  { name: "OpenAI, a codex model", create: () => createMovedModel("gpt-5.3-codex"), env: high },
  { name: "Azure", create: () => createAzure(), env: high },
  { name: "OpenAI, Chat Completions", create: () => createChatVendor(openaiChat) },
  { name: "DeepSeek", create: () => createChatVendor(deepseek) },
  { name: "OpenRouter", create: () => createChatVendor(openrouter) },
  { name: "Gemini over a chat endpoint", create: () => createChatVendor(geminiChat) },
  { name: "Gemini 3", create: () => createGemini(), env: high },
  { name: "Gemini 3, calls with ids", create: () => createGemini({ callIds: true }) },
  { name: "Gemini 2.5", create: () => createGemini({ model: "gemini-2.5-pro", third: false }), env: high },
  { name: "Ollama", create: () => createOllama() },
  { name: "Ollama, calls with ids", create: () => createOllama({ callIds: true, levels: true }), env: high },
];
