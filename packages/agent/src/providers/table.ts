/** The providers and how a model's name leads to one: data, read by `resolve.ts`. */

export type Env = Readonly<Record<string, string | undefined>>;

/** The vendors' formats, each a file of `wires`. */
export type WireName = "messages" | "chat" | "responses" | "gemini" | "ollama";

/** `bearer` is `authorization: Bearer ...`; any other is the name of a header. */
type KeyHeader = "bearer" | "x-api-key" | "x-goog-api-key" | "api-key";

export interface ProviderRow {
  readonly wire: WireName | "offline" | "scripted";
  /** Where a key may be, first found first taken, and the header it goes into. */
  readonly keys?: readonly { readonly env: string; readonly header: KeyHeader }[];
  /** A key is asked for, except where `baseUrl.env` points somewhere else. */
  readonly keyNeeded?: boolean;
  readonly baseUrl?: {
    readonly env: string;
    readonly standard: string;
    /** Used in place of `standard` when a key is set. */
    readonly withKey?: string;
  };
  /** Appended to the base URL, unless it already ends so. */
  readonly root?: string;
  readonly path?: string;
  /** Where the provider speaks another wire, or speaks it at another path: the first row that fits. */
  readonly elsewhere?: readonly Elsewhere[];
  /** Headers taken from the environment. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The id under which prices are listed. */
  readonly prices?: string;
  /** Assumed where the price list does not say, in tokens. */
  readonly contextWindow: number;
}

export interface Elsewhere extends Pick<ProviderRow, "wire" | "root" | "path" | "keys"> {
  /** How the base URL ends. */
  readonly baseEnds?: string;
  /** The host of the base URL. */
  readonly host?: string;
  /** The names of the models. */
  readonly models?: RegExp;
}

const bearer = (env: string) => ({ env, header: "bearer" as const });
const chat = { wire: "chat", root: "/v1", path: "/chat/completions", contextWindow: 131_072 } as const;
const responses = { wire: "responses", path: "/responses" } as const;
/** Models that OpenAI serves with tools at `/responses` only, or best there. */
const RESPONSES_MODELS = /^(?:gpt-(?:[5-9]|\d\d)|o\d|codex)/i;

export const providers = {
  anthropic: {
    wire: "messages",
    keys: [{ env: "ANTHROPIC_API_KEY", header: "x-api-key" }, bearer("ANTHROPIC_AUTH_TOKEN")],
    keyNeeded: true,
    baseUrl: { env: "ANTHROPIC_BASE_URL", standard: "https://api.anthropic.com" },
    root: "/v1",
    path: "/messages",
    prices: "anthropic",
    contextWindow: 200_000,
  },
  openai: {
    ...chat,
    keys: [bearer("OPENAI_API_KEY")],
    keyNeeded: true,
    baseUrl: { env: "OPENAI_BASE_URL", standard: "https://api.openai.com/v1" },
    root: "",
    // Other servers get what all of them speak, until one says otherwise.
    elsewhere: [{ ...responses, root: "", host: "api.openai.com", models: RESPONSES_MODELS }],
    prices: "openai",
  },
  azure: {
    ...responses,
    keys: [{ env: "AZURE_OPENAI_API_KEY", header: "api-key" }],
    keyNeeded: true,
    baseUrl: { env: "AZURE_OPENAI_ENDPOINT", standard: "" },
    root: "/openai/v1",
    prices: "openai",
    contextWindow: 131_072,
  },
  openrouter: {
    ...chat,
    keys: [bearer("OPENROUTER_API_KEY")],
    keyNeeded: true,
    baseUrl: { env: "OPENROUTER_BASE_URL", standard: "https://openrouter.ai/api/v1" },
    headers: { OPENROUTER_REFERER: "http-referer", OPENROUTER_TITLE: "x-title" },
    prices: "openrouter",
  },
  xai: {
    ...chat,
    keys: [bearer("XAI_API_KEY")],
    keyNeeded: true,
    baseUrl: { env: "XAI_BASE_URL", standard: "https://api.x.ai/v1" },
    prices: "x-ai",
  },
  google: {
    wire: "gemini",
    keys: [
      { env: "GEMINI_API_KEY", header: "x-goog-api-key" },
      { env: "GOOGLE_API_KEY", header: "x-goog-api-key" },
    ],
    keyNeeded: true,
    baseUrl: { env: "GEMINI_BASE_URL", standard: "https://generativelanguage.googleapis.com/v1beta" },
    root: "/v1beta",
    path: "/models/{model}:streamGenerateContent?alt=sse",
    elsewhere: [{ ...chat, root: "", baseEnds: "/openai", keys: [bearer("GEMINI_API_KEY"), bearer("GOOGLE_API_KEY")] }],
    prices: "google",
    contextWindow: 1_048_576,
  },
  deepseek: {
    ...chat,
    keys: [bearer("DEEPSEEK_API_KEY")],
    keyNeeded: true,
    baseUrl: { env: "DEEPSEEK_BASE_URL", standard: "https://api.deepseek.com/v1" },
    prices: "deepseek",
  },
  vllm: {
    ...chat,
    keys: [bearer("VLLM_API_KEY")],
    baseUrl: { env: "VLLM_BASE_URL", standard: "http://127.0.0.1:8000/v1" },
  },
  sglang: {
    ...chat,
    keys: [bearer("SGLANG_API_KEY")],
    baseUrl: { env: "SGLANG_BASE_URL", standard: "http://127.0.0.1:30000/v1" },
  },
  ollama: {
    wire: "ollama",
    keys: [bearer("OLLAMA_API_KEY")],
    baseUrl: { env: "OLLAMA_HOST", standard: "http://127.0.0.1:11434", withKey: "https://ollama.com" },
    path: "/api/chat",
    elsewhere: [{ ...chat, baseEnds: "/v1" }],
    contextWindow: 131_072,
  },
  offline: { wire: "offline", contextWindow: 1_000_000 },
  scripted: { wire: "scripted", contextWindow: 200_000 },
} as const satisfies Record<string, ProviderRow>;

export type ProviderName = keyof typeof providers;

export interface RouteRow {
  readonly provider: ProviderName;
  readonly starts?: readonly string[];
  readonly contains?: string;
  /** Names this row leaves to the ones below. */
  readonly except?: readonly string[];
  /** The row counts only while one of these is set. */
  readonly whenEnv?: readonly string[];
  /** Whether the matched start is an address and no part of the model's name. */
  readonly strip?: true;
  /** Overrides the provider's assumed context window. */
  readonly contextWindow?: number;
}

/** Read from the top; the first row that fits decides. */
export const routes: readonly RouteRow[] = [
  { provider: "offline", starts: ["offline", "faux"] },
  { provider: "scripted", starts: ["scripted:"], strip: true },
  { provider: "vllm", starts: ["vllm/"], strip: true },
  { provider: "sglang", starts: ["sglang/"], strip: true },
  { provider: "ollama", starts: ["ollama/"], strip: true },
  { provider: "openrouter", starts: ["openrouter/"], strip: true },
  { provider: "openrouter", contains: "/", whenEnv: ["OPENROUTER_API_KEY"] },
  { provider: "anthropic", starts: ["anthropic/"], strip: true },
  { provider: "openai", starts: ["openai/"], strip: true },
  { provider: "xai", starts: ["xai/", "x-ai/"], strip: true },
  { provider: "google", starts: ["google/"], strip: true },
  { provider: "azure", starts: ["azure/"], strip: true },
  { provider: "deepseek", starts: ["deepseek/"], strip: true },
  { provider: "openai", contains: "/", whenEnv: ["OPENAI_BASE_URL"] },
  { provider: "openrouter", contains: "/" },
  { provider: "ollama", contains: ":cloud", contextWindow: 262_144 },
  { provider: "ollama", contains: ":" },
  { provider: "ollama", starts: ["gpt-oss"] },
  {
    provider: "anthropic",
    starts: [""],
    except: ["gpt", "chatgpt", "o1", "o3", "o4", "codex", "gemini"],
    whenEnv: ["ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"],
  },
  { provider: "anthropic", starts: ["claude", "glm", "kimi", "moonshot"] },
  { provider: "openai", starts: ["gpt", "chatgpt", "o1", "o3", "o4", "codex"] },
  { provider: "google", starts: ["gemini"] },
  { provider: "deepseek", starts: ["deepseek"] },
  { provider: "xai", starts: ["grok"] },
  { provider: "ollama", starts: ["llama", "mistral", "qwen", "phi", "gemma"] },
  // A name nobody knows belongs to the server somebody pointed us at, else to the one on this machine.
  { provider: "openai", starts: [""], whenEnv: ["OPENAI_BASE_URL"] },
  { provider: "ollama", starts: [""] },
];

/** What is used when no model is named: the first row whose variable is set. */
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
