/** In which order model keys are looked for when no model is named: data, read by `resolve.ts`. */

/** The first row whose variable is set. */
export type Chain = readonly { readonly env: string; readonly model: string }[];

export const anthropicFirst: Chain = [
  { env: "ANTHROPIC_API_KEY", model: "claude-sonnet-4-6" },
  { env: "OPENROUTER_API_KEY", model: "anthropic/claude-sonnet-4" },
  { env: "OPENAI_API_KEY", model: "gpt-4o" },
  { env: "XAI_API_KEY", model: "grok-3" },
  { env: "OLLAMA_API_KEY", model: "gpt-oss:120b-cloud" },
];

export const openaiFirst: Chain = [
  { env: "OPENAI_API_KEY", model: "gpt-5" },
  { env: "ANTHROPIC_API_KEY", model: "claude-sonnet-4-6" },
  { env: "OPENROUTER_API_KEY", model: "openai/gpt-4o" },
  { env: "XAI_API_KEY", model: "grok-3" },
  { env: "OLLAMA_API_KEY", model: "gpt-oss:120b-cloud" },
];
