/** The table of providers and the table of model names, for `resolve.ts` and `route.ts`. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A list of `facts.json`. */
export type ListName = "anthropic" | "openai" | "google" | "xai" | "deepseek" | "openrouter";

/** The vendors' formats. Each is a file or a folder in `wires`. */
export type WireName = "messages" | "chat" | "responses" | "gemini" | "ollama";

/** The field of Chat Completions for the output limit: OpenAI's own name, and the older name that most others use. */
export type LimitField = "max_completion_tokens" | "max_tokens";

/** `bearer` stands for `authorization: Bearer ...`; any other value is the name of a header. */
type KeyHeader = "bearer" | "x-api-key" | "x-goog-api-key" | "api-key";

export interface ProviderRow {
  readonly wire: WireName | "offline" | "scripted";
  /** Variables that may hold the key, and the header to send it in. The first variable that is set is used. */
  readonly keys?: readonly { readonly env: string; readonly header: KeyHeader }[];
  /** The provider needs a key, unless `baseUrl.env` sets another address. */
  readonly keyNeeded?: boolean;
  readonly baseUrl?: {
    readonly env: string;
    readonly standard: string;
    /** Used instead of `standard` when a key is set. */
    readonly withKey?: string;
  };
  /** Appended to the base URL if it does not already end with it. */
  readonly root?: string;
  readonly path?: string;
  /** Replaces the wire or the path under a condition. The first row that fits is used. */
  readonly elsewhere?: readonly Elsewhere[];
  /** The field for a model's output limit. A person's own server gets none, because it knows how much room there is. */
  readonly limitField?: LimitField;
  /** Variable -> header to send its value in. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The list in `facts.json` with its models. */
  readonly facts?: ListName;
  /** Assumed for an unknown model, in tokens. */
  readonly contextWindow: number;
}

export interface Elsewhere extends Pick<ProviderRow, "wire" | "root" | "path" | "keys"> {
  /** Fits when the base URL ends with this. */
  readonly baseEnds?: string;
  /** Fits when the base URL has this host. */
  readonly host?: string;
  /** Fits only models whose facts name this wire. */
  readonly listed?: true;
}

const bearer = (env: string) => ({ env, header: "bearer" as const });
const chat = { wire: "chat", root: "/v1", path: "/chat/completions", contextWindow: 131_072 } as const;
const responses = { wire: "responses", path: "/responses" } as const;

export const providers = {
  anthropic: {
    wire: "messages",
    keys: [{ env: "ANTHROPIC_API_KEY", header: "x-api-key" }, bearer("ANTHROPIC_AUTH_TOKEN")],
    keyNeeded: true,
    baseUrl: { env: "ANTHROPIC_BASE_URL", standard: "https://api.anthropic.com" },
    root: "/v1",
    path: "/messages",
    facts: "anthropic",
    contextWindow: 200_000,
  },
  openai: {
    ...chat,
    keys: [bearer("OPENAI_API_KEY")],
    keyNeeded: true,
    baseUrl: { env: "OPENAI_BASE_URL", standard: "https://api.openai.com/v1" },
    root: "",
    limitField: "max_completion_tokens",
    // Other servers at OPENAI_BASE_URL get Chat Completions, which all of them support, until one asks for /responses.
    elsewhere: [{ ...responses, root: "", host: "api.openai.com", listed: true }],
    facts: "openai",
  },
  azure: {
    ...responses,
    keys: [{ env: "AZURE_OPENAI_API_KEY", header: "api-key" }],
    keyNeeded: true,
    baseUrl: { env: "AZURE_OPENAI_ENDPOINT", standard: "" },
    root: "/openai/v1",
    facts: "openai",
    contextWindow: 131_072,
  },
  openrouter: {
    ...chat,
    keys: [bearer("OPENROUTER_API_KEY")],
    keyNeeded: true,
    baseUrl: { env: "OPENROUTER_BASE_URL", standard: "https://openrouter.ai/api/v1" },
    limitField: "max_tokens",
    headers: { OPENROUTER_REFERER: "http-referer", OPENROUTER_TITLE: "x-title" },
    facts: "openrouter",
  },
  xai: {
    ...chat,
    keys: [bearer("XAI_API_KEY")],
    keyNeeded: true,
    baseUrl: { env: "XAI_BASE_URL", standard: "https://api.x.ai/v1" },
    limitField: "max_completion_tokens",
    facts: "xai",
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
    facts: "google",
    contextWindow: 1_048_576,
  },
  deepseek: {
    ...chat,
    keys: [bearer("DEEPSEEK_API_KEY")],
    keyNeeded: true,
    baseUrl: { env: "DEEPSEEK_BASE_URL", standard: "https://api.deepseek.com/v1" },
    limitField: "max_tokens",
    facts: "deepseek",
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
  /** The row applies only if one of these variables is set. */
  readonly whenEnv?: readonly string[];
  /** The row applies only if its provider's key or base URL is set. */
  readonly whenSetUp?: true;
  /** Whether to remove the matched prefix from the model's name. */
  readonly strip?: true;
  /** Overrides the provider's assumed context window. */
  readonly contextWindow?: number;
}

/**
 * The first row that matches decides. `claude`, `gpt`, `o1`, `o3`, `o4` and `chatgpt` always belong to their vendors. A name that begins
 * with a provider's name and a slash belongs to that provider. Any other name belongs to Ollama, unless the environment sets up another
 * provider for it: decision 0038.
 */
export const routes: readonly RouteRow[] = [
  { provider: "offline", starts: ["offline", "faux"] },
  { provider: "scripted", starts: ["scripted:"], strip: true },
  { provider: "vllm", starts: ["vllm/"], strip: true },
  { provider: "sglang", starts: ["sglang/"], strip: true },
  { provider: "ollama", starts: ["ollama/"], strip: true },
  { provider: "openrouter", starts: ["openrouter/"], strip: true },
  { provider: "ollama", starts: ["hf.co/", "huggingface.co/"] },
  { provider: "openrouter", contains: "/", whenSetUp: true },
  { provider: "anthropic", starts: ["anthropic/"], strip: true },
  { provider: "openai", starts: ["openai/"], strip: true },
  { provider: "xai", starts: ["xai/", "x-ai/"], strip: true },
  { provider: "google", starts: ["google/"], strip: true },
  { provider: "azure", starts: ["azure/"], strip: true },
  { provider: "deepseek", starts: ["deepseek/"], strip: true },
  { provider: "openai", contains: "/", whenEnv: ["OPENAI_BASE_URL"] },
  { provider: "ollama", contains: ":cloud", contextWindow: 262_144 },
  { provider: "ollama", contains: ":" },
  { provider: "ollama", starts: ["gpt-oss"] },
  { provider: "anthropic", starts: ["claude"] },
  { provider: "openai", starts: ["gpt", "chatgpt", "o1", "o3", "o4"] },
  { provider: "openai", starts: ["codex"], whenSetUp: true },
  { provider: "google", starts: ["gemini"], whenSetUp: true },
  { provider: "deepseek", starts: ["deepseek"], whenSetUp: true },
  { provider: "xai", starts: ["grok"], whenSetUp: true },
  // Any other name goes to a server that the environment names, Ollama's first, or else to Ollama on this machine.
  { provider: "ollama", starts: [""], whenEnv: ["OLLAMA_HOST"] },
  { provider: "anthropic", starts: [""], whenEnv: ["ANTHROPIC_BASE_URL"] },
  { provider: "ollama", starts: ["llama", "mistral", "qwen", "phi", "gemma"] },
  { provider: "openai", starts: [""], whenEnv: ["OPENAI_BASE_URL"] },
  { provider: "ollama", starts: [""] },
];
