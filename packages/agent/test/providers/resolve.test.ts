import { describe, expect, it } from "vitest";
import { isAgentError } from "../../src/index.js";
import {
  anthropicFirst,
  createModels,
  defaultModel,
  type Env,
  findPrice,
  listProviders,
  openaiFirst,
  resolveModel,
  suggestModels,
} from "../../src/providers/index.js";

const keys: Env = {
  ANTHROPIC_API_KEY: "a",
  OPENAI_API_KEY: "o",
  XAI_API_KEY: "x",
  GEMINI_API_KEY: "g",
  DEEPSEEK_API_KEY: "d",
};

describe("a model's name leads to a provider", () => {
  it.each<[string, Env, string, string, string]>([
    ["claude-sonnet-4-6", keys, "anthropic", "claude-sonnet-4-6", "https://api.anthropic.com/v1/messages"],
    ["glm-4.6", { ANTHROPIC_AUTH_TOKEN: "t" }, "anthropic", "glm-4.6", "https://api.anthropic.com/v1/messages"],
    ["kimi-k2", keys, "anthropic", "kimi-k2", "https://api.anthropic.com/v1/messages"],
    ["gpt-4o", keys, "openai", "gpt-4o", "https://api.openai.com/v1/chat/completions"],
    ["O3-mini", keys, "openai", "O3-mini", "https://api.openai.com/v1/responses"],
    ["gpt-5.2", keys, "openai", "gpt-5.2", "https://api.openai.com/v1/responses"],
    [
      "gpt-12",
      { ...keys, OPENAI_BASE_URL: "https://API.openai.com/v1/" },
      "openai",
      "gpt-12",
      "https://API.openai.com/v1/responses",
    ],
    ["gpt-5.2", { ...keys, OPENAI_BASE_URL: "http://h/v1" }, "openai", "gpt-5.2", "http://h/v1/chat/completions"],
    [
      "gpt-5.2",
      { ...keys, OPENAI_BASE_URL: "https://api.openai.com.evil/v1" },
      "openai",
      "gpt-5.2",
      "https://api.openai.com.evil/v1/chat/completions",
    ],
    [
      "azure/my-gpt",
      { AZURE_OPENAI_API_KEY: "z", AZURE_OPENAI_ENDPOINT: "https://r.openai.azure.com/" },
      "azure",
      "my-gpt",
      "https://r.openai.azure.com/openai/v1/responses",
    ],
    ["codex-mini", keys, "openai", "codex-mini", "https://api.openai.com/v1/responses"],
    ["grok-3", keys, "xai", "grok-3", "https://api.x.ai/v1/chat/completions"],
    [
      "gemini-2.5-pro",
      keys,
      "google",
      "gemini-2.5-pro",
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    ],
    [
      "gemini-3-pro",
      { GEMINI_BASE_URL: "http://h/v1beta/openai/" },
      "google",
      "gemini-3-pro",
      "http://h/v1beta/openai/chat/completions",
    ],
    [
      "google/gemini-3/x",
      { GEMINI_BASE_URL: "http://h", OPENROUTER_API_KEY: "" },
      "google",
      "gemini-3/x",
      "http://h/v1beta/models/gemini-3%2Fx:streamGenerateContent?alt=sse",
    ],
    ["deepseek-chat", keys, "deepseek", "deepseek-chat", "https://api.deepseek.com/v1/chat/completions"],
    ["deepseek-v3.1:671b-cloud", keys, "ollama", "deepseek-v3.1:671b-cloud", "http://127.0.0.1:11434/api/chat"],
    ["llama3:8b", {}, "ollama", "llama3:8b", "http://127.0.0.1:11434/api/chat"],
    ["qwen2.5-coder", {}, "ollama", "qwen2.5-coder", "http://127.0.0.1:11434/api/chat"],
    ["gpt-oss:20b", keys, "ollama", "gpt-oss:20b", "http://127.0.0.1:11434/api/chat"],
    ["gpt-oss:120b-cloud", { OLLAMA_API_KEY: "k" }, "ollama", "gpt-oss:120b-cloud", "https://ollama.com/api/chat"],
    ["llama3", { OLLAMA_HOST: "0.0.0.0" }, "ollama", "llama3", "http://127.0.0.1:11434/api/chat"],
    ["llama3", { OLLAMA_HOST: "gpu:9000" }, "ollama", "llama3", "http://gpu:9000/api/chat"],
    ["llama3", { OLLAMA_HOST: "http://gpu:9000/v1" }, "ollama", "llama3", "http://gpu:9000/v1/chat/completions"],
    ["somebody-elses", {}, "ollama", "somebody-elses", "http://127.0.0.1:11434/api/chat"],
    ["somebody-elses", { OPENAI_BASE_URL: "http://h/v1" }, "openai", "somebody-elses", "http://h/v1/chat/completions"],
    ["vllm/org/model", {}, "vllm", "org/model", "http://127.0.0.1:8000/v1/chat/completions"],
    ["vllm/m", { VLLM_BASE_URL: "http://h:1/v1/" }, "vllm", "m", "http://h:1/v1/chat/completions"],
    ["sglang/m", {}, "sglang", "m", "http://127.0.0.1:30000/v1/chat/completions"],
    [
      "anthropic/claude-sonnet-4",
      { ...keys, OPENROUTER_API_KEY: "r" },
      "openrouter",
      "anthropic/claude-sonnet-4",
      "https://openrouter.ai/api/v1/chat/completions",
    ],
    ["anthropic/claude-sonnet-4", keys, "anthropic", "claude-sonnet-4", "https://api.anthropic.com/v1/messages"],
    ["my-proxy-model", { ANTHROPIC_BASE_URL: "http://p/v1" }, "anthropic", "my-proxy-model", "http://p/v1/messages"],
    [
      "gpt-4o",
      { ...keys, ANTHROPIC_BASE_URL: "http://p" },
      "openai",
      "gpt-4o",
      "https://api.openai.com/v1/chat/completions",
    ],
    ["offline", keys, "offline", "offline", ""],
    ["scripted:/tmp/a:b.json", keys, "scripted", "/tmp/a:b.json", ""],
  ])("%s", (name, env, provider, model, url) => {
    expect(resolveModel(name, env, anthropicFirst)).toMatchObject({ provider, model, url });
  });

  it("with the key in the header the provider reads, and nothing else of the environment", () => {
    const headers = (name: string, env: Env) => resolveModel(name, { ...env, SECRET: "s" }, anthropicFirst).headers;
    expect(headers("claude-x", { ANTHROPIC_API_KEY: "k" })).toEqual({ "x-api-key": "k" });
    expect(headers("claude-x", { ANTHROPIC_AUTH_TOKEN: "t" })).toEqual({ authorization: "Bearer t" });
    expect(headers("a/b", { OPENROUTER_API_KEY: "r", OPENROUTER_REFERER: "u", OPENROUTER_TITLE: "n" })).toEqual({
      authorization: "Bearer r",
      "http-referer": "u",
      "x-title": "n",
    });
    expect(headers("llama3", {})).toEqual({});
    expect(headers("gemini-x", { GOOGLE_API_KEY: "g" })).toEqual({ "x-goog-api-key": "g" });
    expect(headers("gemini-x", { GEMINI_API_KEY: "g", GEMINI_BASE_URL: "http://h/openai" })).toEqual({
      authorization: "Bearer g",
    });
    expect(headers("azure/x", { AZURE_OPENAI_API_KEY: "z", AZURE_OPENAI_ENDPOINT: "http://h" })).toEqual({
      "api-key": "z",
    });
  });

  it("or to an error that names the variable to set", () => {
    for (const [name, variable, env = {}] of [
      ["azure/x", "AZURE_OPENAI_ENDPOINT", { AZURE_OPENAI_API_KEY: "z" }],
      ["claude-x", "ANTHROPIC_API_KEY"],
      ["gpt-4o", "OPENAI_API_KEY"],
      ["a/b", "OPENROUTER_API_KEY"],
      ["grok-3", "XAI_API_KEY"],
    ] as const) {
      try {
        resolveModel(name, env, anthropicFirst);
        expect.unreachable();
      } catch (error) {
        expect(isAgentError(error) && error.code).toBe("model_unavailable");
        expect(String(error)).toContain(variable);
      }
    }
  });
});

describe("without a name", () => {
  it.each<[Env, string, string]>([
    [{}, "offline", "offline"],
    [keys, "claude-sonnet-4-6", "gpt-5"],
    [{ OPENROUTER_API_KEY: "r", OPENAI_API_KEY: "o" }, "anthropic/claude-sonnet-4", "gpt-5"],
    [{ OPENROUTER_API_KEY: "r" }, "anthropic/claude-sonnet-4", "openai/gpt-4o"],
    [{ XAI_API_KEY: "x" }, "grok-3", "grok-3"],
    [{ OLLAMA_API_KEY: "l" }, "gpt-oss:120b-cloud", "gpt-oss:120b-cloud"],
  ])("the chain finds the first key of %o", (env, anthropic, openai) => {
    expect(defaultModel(env, anthropicFirst)).toBe(anthropic);
    expect(defaultModel(env, openaiFirst)).toBe(openai);
    expect(resolveModel("", env, anthropicFirst).model).toBe(resolveModel(anthropic, env, anthropicFirst).model);
  });

  it("a picker offers what there is a key for, and offline", () => {
    expect(suggestModels({ OPENAI_API_KEY: "o" }, openaiFirst)).toEqual(["gpt-5", "offline"]);
    const configured = listProviders({ OPENAI_API_KEY: "o" }).filter((row) => row.configured);
    expect(configured.map((row) => row.name)).toEqual(["openai", "offline", "scripted"]);
  });
});

describe("prices", () => {
  it("are found by the longest name that fits", () => {
    expect(findPrice("openai", "gpt-4o")?.price).toEqual({ input: 2.5, output: 10, cacheRead: 1.25, cacheWrite: 2.5 });
    expect(findPrice("openai", "gpt-4o-mini")?.price.input).toBe(0.15);
    expect(findPrice("anthropic", "claude-sonnet-4-6")).toMatchObject({
      price: { input: 3, output: 15 },
      contextWindow: 1_000_000,
    });
    expect(findPrice("openai", "gpt-0-unheard-of")).toBeNull();
    expect(findPrice("ollama", "gpt-4o")).toBeNull();
  });

  it("of a model nobody listed are unknown, and it still runs", async () => {
    const models = createModels({ env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" }, chain: openaiFirst });
    expect(await models("in-house-model")).toMatchObject({ provider: "openai", price: null, contextWindow: 131_072 });
    expect(await models("in-house-model")).toBe(await models("in-house-model"));
  });
});
