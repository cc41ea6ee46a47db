/** Which models are taken when none is named, in the order of their keys: `route.ts` looks for them. */

/** The first row whose variable is set gives the model. */
export type Chain = readonly { readonly env: string; readonly model: string }[];

const others: Chain = [
  { env: "XAI_API_KEY", model: "grok-4.7" },
  { env: "OLLAMA_API_KEY", model: "gpt-oss:120b-cloud" },
  { env: "GEMINI_API_KEY", model: "gemini-4-argon" },
  { env: "DEEPSEEK_API_KEY", model: "deepseek-flash" },
];

export const anthropicFirst: Chain = [
  { env: "ANTHROPIC_API_KEY", model: "claude-sonnet-5-5" },
  { env: "OPENROUTER_API_KEY", model: "anthropic/claude-sonnet-5.5" },
  { env: "OPENAI_API_KEY", model: "gpt-6.1-sol" },
  ...others,
];

export const openaiFirst: Chain = [
  { env: "OPENAI_API_KEY", model: "gpt-6.1-sol" },
  { env: "ANTHROPIC_API_KEY", model: "claude-sonnet-5-5" },
  { env: "OPENROUTER_API_KEY", model: "openai/gpt-6.1-sol" },
  ...others,
];
