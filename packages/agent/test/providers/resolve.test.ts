import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { isAgentError } from "../../src/index.js";
import { listedModels } from "../../src/providers/facts.js";
import {
  anthropicFirst,
  createModels,
  defaultModel,
  type Env,
  listProviders,
  modelAddress,
  openaiFirst,
  routeOf,
  suggestModels,
} from "../../src/providers/index.js";

const keys: Env = {
  ANTHROPIC_API_KEY: "a",
  OPENAI_API_KEY: "o",
  XAI_API_KEY: "x",
  GEMINI_API_KEY: "g",
  DEEPSEEK_API_KEY: "d",
};

const OLLAMA = "http://127.0.0.1:11434/api/chat";

describe("a model's name leads to a provider", () => {
  it.each<[string, Env, string, string, string]>([
    ["claude-sonnet-4-6", keys, "anthropic", "claude-sonnet-4-6", "https://api.anthropic.com/v1/messages"],
    ["glm-4.6", { ANTHROPIC_BASE_URL: "https://h" }, "anthropic", "glm-4.6", "https://h/v1/messages"],
    ["glm-4.6", { ANTHROPIC_AUTH_TOKEN: "t" }, "ollama", "glm-4.6", OLLAMA],
    ["kimi-k2", keys, "ollama", "kimi-k2", OLLAMA],
    ["deepseek-r1", {}, "ollama", "deepseek-r1", OLLAMA],
    ["deepseek-r1", { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o" }, "ollama", "deepseek-r1", OLLAMA],
    ["gemini-x", {}, "ollama", "gemini-x", OLLAMA],
    ["grok-3", {}, "ollama", "grok-3", OLLAMA],
    ["codex-mini", {}, "ollama", "codex-mini", OLLAMA],
    ["a/b", {}, "ollama", "a/b", OLLAMA],
    ["hf.co/org/model", {}, "ollama", "hf.co/org/model", OLLAMA],
    ["hf.co/org/model:Q4", { ...keys, OPENROUTER_API_KEY: "r" }, "ollama", "hf.co/org/model:Q4", OLLAMA],
    ["deepseek-r1", { DEEPSEEK_BASE_URL: "http://h/v1" }, "deepseek", "deepseek-r1", "http://h/v1/chat/completions"],
    ["deepseek/r1", keys, "deepseek", "r1", "https://api.deepseek.com/v1/chat/completions"],
    [
      "my-own",
      { OLLAMA_HOST: "gpu", ANTHROPIC_BASE_URL: "http://p", OPENAI_BASE_URL: "http://h" },
      "ollama",
      "my-own",
      "http://gpu:11434/api/chat",
    ],
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
    expect(modelAddress(name, env, anthropicFirst)).toMatchObject({ provider, model, url });
  });

  it("with the key in the provider's header, and nothing else of the environment", () => {
    const headers = (name: string, env: Env) => modelAddress(name, { ...env, SECRET: "s" }, anthropicFirst).headers;
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
      ["openrouter/a/b", "OPENROUTER_API_KEY"],
      ["xai/grok-3", "XAI_API_KEY"],
      ["deepseek/r1", "DEEPSEEK_API_KEY"],
    ] as const) {
      try {
        modelAddress(name, env, anthropicFirst);
        expect.unreachable();
      } catch (error) {
        expect(isAgentError(error) && error.code).toBe("model_unavailable");
        expect(String(error)).toContain(variable);
      }
    }
  });
});

describe("the remedy for a name without a server", () => {
  it.each<[string, Env, string | null]>([
    ["claude-x", { ANTHROPIC_API_KEY: "a" }, null],
    ["offline", {}, null],
    ["my-own", {}, "my-own is taken for a model of ollama (OLLAMA_HOST says where that is)"],
    ["vllm/a/b", {}, "vllm/a/b is taken for a model of vllm (VLLM_BASE_URL says where that is)"],
    ["hf.co/a/b", {}, "hf.co/a/b is taken for a model of ollama (OLLAMA_HOST says where that is)"],
    [
      "gemini-x",
      { DEEPSEEK_API_KEY: "d" },
      "gemini-x is taken for a model of ollama (OLLAMA_HOST says where that is); " +
        "with GEMINI_API_KEY or GOOGLE_API_KEY set, google serves it",
    ],
  ])("%s is given in the error", (name, env, remedy) => {
    expect(modelAddress(name, env, anthropicFirst).remedy).toBe(remedy);
  });

  it.each([
    ["nobody listens", null, "model_unavailable"],
    ["nobody has the model", 404, "model_unavailable"],
  ])("%s: the failure names the vendor's key", async (_, status, code) => {
    const server = createServer((_request, response) => {
      response
        .writeHead(status ?? 200, { "content-type": "application/json" })
        .end('{"error":{"message":"not found"}}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    if (status === null) await new Promise((resolve) => server.close(resolve));
    else onTestFinished(() => void server.close());
    const models = createModels({ env: { OLLAMA_HOST: `127.0.0.1:${port}` }, chain: anthropicFirst });
    const signal = new AbortController().signal;
    const read = async () => {
      const { stream } = await models("deepseek-r1");
      for await (const _events of stream({ system: "", messages: [], tools: [], signal })) expect.unreachable();
    };
    await expect(read()).rejects.toMatchObject({ code, message: expect.stringMatching(/; .*DEEPSEEK_API_KEY/) });
  });
});

describe("without a name", () => {
  it.each<[Env, string, string]>([
    [{}, "offline", "offline"],
    [keys, "claude-sonnet-5-5", "gpt-6.1-sol"],
    [{ OPENROUTER_API_KEY: "r", OPENAI_API_KEY: "o" }, "anthropic/claude-sonnet-5.5", "gpt-6.1-sol"],
    [{ OPENROUTER_API_KEY: "r" }, "anthropic/claude-sonnet-5.5", "openai/gpt-6.1-sol"],
    [{ XAI_API_KEY: "x" }, "grok-4.7", "grok-4.7"],
    [{ OLLAMA_API_KEY: "l" }, "gpt-oss:120b-cloud", "gpt-oss:120b-cloud"],
    [{ GEMINI_API_KEY: "g", DEEPSEEK_API_KEY: "d" }, "gemini-4-argon", "gemini-4-argon"],
    [{ DEEPSEEK_API_KEY: "d" }, "deepseek-flash", "deepseek-flash"],
  ])("the chain finds the first key of %o", (env, anthropic, openai) => {
    expect(defaultModel(env, anthropicFirst)).toBe(anthropic);
    expect(defaultModel(env, openaiFirst)).toBe(openai);
    expect(modelAddress("", env, anthropicFirst).model).toBe(modelAddress(anthropic, env, anthropicFirst).model);
  });

  it.each([...anthropicFirst, ...openaiFirst])("the key $env alone serves its model $model", ({ env }) => {
    const served = modelAddress("", { [env]: "k" }, anthropicFirst).provider;
    const [configured] = listProviders({ [env]: "k" }).filter((row) => row.configured);
    expect(served).toBe(configured?.name);
  });

  it("a picker offers the models that have a key, and offline", () => {
    expect(suggestModels({ OPENAI_API_KEY: "o" }, openaiFirst, () => [])).toEqual(["gpt-6.1-sol", "offline"]);
    const configured = listProviders({ OPENAI_API_KEY: "o" }).filter((row) => row.configured);
    expect(configured.map((row) => row.name)).toEqual(["openai", "offline", "scripted"]);
  });

  it("the newest models of each provider with a key are suggested, by names that lead to them", () => {
    const env = { ANTHROPIC_API_KEY: "a", OPENROUTER_API_KEY: "r" };
    const models = suggestModels(env, openaiFirst, listedModels);
    expect(models).toEqual(expect.arrayContaining(["claude-opus-5-5", "claude-haiku-5-5", "offline"]));
    const providers = models.map((model) => routeOf(model, env, openaiFirst).provider);
    expect(new Set(providers)).toEqual(new Set(["anthropic", "openrouter", "offline"]));
    expect(providers.filter((one) => one === "anthropic").length).toBeLessThanOrEqual(13);
  });
});

describe("a price", () => {
  it("of an unlisted model is unknown, and the model still runs", async () => {
    const models = createModels({ env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" }, chain: openaiFirst });
    expect(await models("in-house-model")).toMatchObject({ provider: "openai", price: null, contextWindow: 131_072 });
    expect(await models("in-house-model")).toBe(await models("in-house-model"));
  });
});
