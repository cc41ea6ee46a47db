/** Facts about models, found by their names. */
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  anthropicFirst,
  createModels,
  factsDate,
  factsOf,
  modelAddress,
  openaiFirst,
} from "../../src/providers/index.js";
import { of, takeTurn } from "../take-turn.js";
import { createChatVendor, openaiChat } from "../vendors/chat-completions.js";
import { startVendor } from "../vendors/vendor.js";

describe("a model", () => {
  it("is found by its name, with its price and abilities", () => {
    expect(factsOf("openai", "gpt-4o")).toEqual({
      contextWindow: 128_000,
      maxOutput: 16_384,
      sees: true,
      thinking: "none",
      wire: undefined,
      price: { input: 2.5, output: 10, cacheRead: 1.25, cacheWrite: 2.5 },
    });
    expect(factsOf("anthropic", "claude-sonnet-4-6")).toMatchObject({ contextWindow: 1_000_000, thinking: "adaptive" });
    expect(factsOf("google", "gemini-2.5-pro")).toMatchObject({
      thinking: "budget",
      price: { input: 1.25, output: 10 },
    });
    expect(factsOf("deepseek", "deepseek-v4-pro")).toMatchObject({ sees: false, thinking: "effort" });
    expect(factsOf("azure", "gpt-6.1-sol")).toEqual(factsOf("openai", "gpt-6.1-sol"));
    expect(factsOf("openrouter", "moonshotai/kimi-k3")).toMatchObject({ price: { input: expect.any(Number) } });
    expect(factsDate).toMatch(/^202\d-\d\d-\d\d$/);
  });

  it.each([
    ["anthropic", "claude-opus-4-1-20250805", "claude-opus-4-1"],
    ["anthropic", "claude-3-5-sonnet-latest", "claude-3-5-sonnet"],
    ["anthropic", "Claude-Sonnet-4@20250514", "claude-sonnet-4"],
    ["anthropic", "us.anthropic.claude-opus-5", "claude-opus-5"],
    ["openai", "gpt-4.1-2025-04-14", "gpt-4.1"],
    ["google", "gemini-2.0-flash-001", "gemini-2.0-flash"],
  ] as const)("of %s named %s is %s, at the same price", (provider, name, same) => {
    expect(factsOf(provider, name)).toEqual(factsOf(provider, same));
    expect(factsOf(provider, name)?.price).not.toBeNull();
  });

  it.each([
    // An unlisted variant is like the model in its name.
    ["openai", "gpt-4o-transcribe", "gpt-4o"],
    // Another number means another, newer model.
    ["anthropic", "claude-opus-5-9", "claude-opus-5-5"],
    ["anthropic", "claude-sonnet-9", "claude-sonnet-5-5"],
    ["openai", "gpt-5.9", "gpt-6.1-sol"],
    ["openai", "o9-mini", "o4-mini"],
    ["google", "gemini-3-pro-preview", "gemini-4-argon"],
    ["xai", "grok-9", "grok-4.20"],
  ] as const)("of %s that is unknown, %s, is treated like %s, at an unknown price", (provider, name, like) => {
    expect(factsOf(provider, name)).toEqual({ ...factsOf(provider, like), price: null });
  });

  it("of another vendor at the person's own address is known too, except for its price", () => {
    const glm = modelAddress("glm-4.7", { ANTHROPIC_BASE_URL: "http://p" }, anthropicFirst);
    expect(glm).toMatchObject({ provider: "anthropic", contextWindow: glm.facts?.contextWindow });
    expect(glm.facts).toMatchObject({ sees: false, price: null });
    expect(factsOf("openai", "openai/gpt-oss-120b")).toMatchObject({ contextWindow: 131_072, wire: undefined });
  });

  it.each([
    ["openai", "in-house-model"],
    ["anthropic", "my-proxy-model"],
    // A person's own servers report it themselves.
    ["ollama", "gpt-4o"],
    ["vllm", "openai/gpt-oss-120b"],
    ["openai", ""],
    ["openai", "constructor"],
  ] as const)("of %s named %s is unknown", (provider, name) => {
    expect(factsOf(provider, name)).toBeNull();
  });

  it("is found quickly, even under a hostile name", () => {
    const began = performance.now();
    for (const name of ["-".repeat(50_000), "claude-".repeat(10_000), "a.".repeat(25_000), "1-".repeat(25_000)])
      for (const provider of ["anthropic", "openrouter"] as const) factsOf(provider, name);
    expect(performance.now() - began).toBeLessThan(500);
  });

  it("of Zhipu or Moonshot does not go to Anthropic because of its key", () => {
    const env = { ANTHROPIC_API_KEY: "a" };
    for (const name of ["glm-5.2", "kimi-k3"]) expect(modelAddress(name, env, anthropicFirst).provider).toBe("ollama");
  });
});

it("every model that is suggested is listed, sees, thinks and has a price", () => {
  for (const chain of [anthropicFirst, openaiFirst])
    for (const { env, model } of chain) {
      const { facts, provider } = modelAddress(model, { [env]: "k" }, chain);
      if (provider === "ollama") continue;
      expect(facts, model).toMatchObject({ sees: true, price: { input: expect.any(Number) } });
      expect(facts?.thinking, model).not.toBe("none");
    }
});

it("a Gemini that is newer than the list keeps its window", async () => {
  const models = createModels({ env: { GEMINI_API_KEY: "g" }, chain: anthropicFirst });
  expect(await models("gemini-3-pro-preview")).toMatchObject({ contextWindow: 1_048_576, price: null });
});

describe("a model that only its server knows", () => {
  const asked = async (models: unknown) => {
    const vendor = { ...createChatVendor({ ...openaiChat, model: "in-house" }), models: () => models };
    const running = await startVendor(vendor, [{ says: [{ text: "One." }] }, { says: [{ text: "Two." }] }]);
    onTestFinished(running.close);
    const opened = createModels({ env: vendor.env(running.url), chain: anthropicFirst });
    const sizes: unknown[] = [];
    for (let n = 0; n < 2; n++) {
      const events = await takeTurn({ resolveModel: () => opened("in-house") });
      sizes.push(of(events, "usage")[0]?.size);
      await setTimeout(100);
    }
    return sizes;
  };

  it("has the window that the server states, from its second turn on", async () => {
    expect(await asked({ data: [{ id: "other" }, { id: "in-house", max_model_len: 32_768 }] })).toEqual([
      131_072, 32_768,
    ]);
    expect(await asked({ data: [{ id: "in-house", context_length: 1_000_000 }] })).toEqual([131_072, 1_000_000]);
  });

  it.each([
    ["no list", undefined],
    ["not a list", []],
    ["nothing of it", { data: [{ id: "in-house" }] }],
    ["none of its models", { data: [null, 1, "in-house", { id: "x", max_model_len: 5 }] }],
    ["less than nothing", { data: [{ id: "in-house", max_model_len: -1 }] }],
    ["more than there is", { data: [{ id: "in-house", max_model_len: 1e300 }] }],
    ["words", { data: [{ id: "in-house", max_model_len: "8192; DROP" }] }],
    ["too much", { data: [{ id: "in-house", max_model_len: 32_768, padding: "x".repeat(6_000_000) }] }],
  ])("keeps the usual window when the server reports %s", async (_what, models) => {
    expect(await asked(models)).toEqual([131_072, 131_072]);
  });
});
