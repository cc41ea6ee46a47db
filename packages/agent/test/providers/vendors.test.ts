/** Each wire with its vendor, which is as strict as the real one. */
import type { AgentEvent, Message } from "@chimera/acp-schema/events";
import { describe, expect, it, onTestFinished } from "vitest";
import { anthropicFirst, createAgent, createConversation } from "../../src/index.js";
import { createModels } from "../../src/providers/index.js";
import { contextOf, of, takeTurn, toolNamed } from "../take-turn.js";
import { createMovedModel, vendors } from "../vendors/all.js";
import {
  type ChatDialect,
  createChatVendor,
  deepseek,
  geminiChat,
  invalid,
  openaiChat,
  openrouter,
} from "../vendors/chat-completions.js";
import { createClaude } from "../vendors/claude.js";
import { createGemini } from "../vendors/gemini.js";
import { createOllama } from "../vendors/ollama.js";
import { createAzure, createResponses } from "../vendors/openai-responses.js";
import type { Loose, ModelReply, RunningVendor, Vendor } from "../vendors/vendor.js";
import { Refusal, startVendor } from "../vendors/vendor.js";

const look = toolNamed("look", async ({ path }) => ({ success: path !== "b", output: `<${String(path)}>` }), {
  aliases: ["look_at"],
});

interface Talk {
  readonly running: RunningVendor;
  readonly events: AgentEvent[];
  readonly messages: readonly Message[];
}

async function talk(
  vendor: Vendor,
  replies: readonly ModelReply[],
  { env = {}, prompts = ["go"], history = [] as readonly Message[], system = "A test.", tools = [look] } = {},
): Promise<Talk> {
  const running = await startVendor(vendor, replies);
  onTestFinished(running.close);
  const models = createModels({ env: { ...vendor.env(running.url), ...env }, chain: anthropicFirst });
  const agent = createAgent({
    resolveModel: () => models(vendor.model),
    tools,
    systemPrompt: system,
    // Retries do not wait.
    clock: { now: () => performance.now(), sleep: async () => {} },
  });
  const conversation = createConversation(agent, { workspace: contextOf({}).workspace, history });
  const events: AgentEvent[] = [];
  for (const prompt of prompts) for await (const event of conversation.prompt(prompt)) events.push(event);
  return { running, events, messages: conversation.messages };
}

const call = (path: string, name = "look") => ({ call: name, args: { path } });
const done: ModelReply = { says: [{ reasoning: "Enough – 十分." }, { text: "Done 🎉." }] };
const steps: ModelReply[] = [
  { says: [{ reasoning: "First I look." }, { text: "Looking." }, call("a"), call("b", "look_at")] },
  { says: [{ reasoning: "" }, call("c")] },
  {
    says: [{ hidden: true }, { text: "One." }, { text: "Two." }, { call: "look", args: '{ "path" : "d", "n": 1.0 }' }],
  },
  done,
];

describe.each(vendors)("$name", ({ create, env = {} }) => {
  it("accepts two turns of several steps, and no refused request is repeated", async () => {
    const { running, events } = await talk(create(), [...steps, ...steps], { env, prompts: ["go", "and again"] });
    expect(of(events, "error")).toEqual([]);
    expect(of(events, "agent_result")).toMatchObject([
      { success: true, output: "Done 🎉.", steps: 4, tool_calls_total: 4 },
      { success: true, output: "Done 🎉.", steps: 4, tool_calls_total: 4 },
    ]);
    expect(of(events, "tool_result").map(({ output }) => output)).toEqual(
      Array(2).fill(["<a>", "<b>", "<c>", "<d>"]).flat(),
    );
    expect(running.left()).toBe(0);
    expect(running.refused.length).toBeLessThanOrEqual(1);
  });

  it("can refuse, and no call of a refused reply runs", async () => {
    // Ollama cannot report a refusal.
    if (create().name === "Ollama") return;
    const { events } = await talk(create(), [{ says: [{ text: "And so" }, call("a")], stop: "refusal" }], { env });
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "refusal" }]);
    expect(of(events, "tool_call")).toEqual([]);
  });

  it("continues a conversation that another model began", async () => {
    const seal = { provider: "anthropic", model: "claude-0", data: { type: "thinking", signature: "x", after: "y" } };
    const history: Message[] = [
      { role: "user", text: "hi" },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "hm", seal },
          { type: "text", text: "Looking." },
          {
            type: "call",
            id: "call-0-0",
            name: "look",
            args: { path: "x" },
            seal: { ...seal, data: { own: { id: "q" } } },
          },
          { type: "call", id: "call-0-1", name: "look", args: {} },
        ],
      },
      { role: "tool", id: "call-0-0", name: "look", output: "seen", success: true },
      { role: "tool", id: "call-0-1", name: "look", output: "", success: false },
      { role: "assistant", parts: [{ type: "reasoning", text: "cut off", seal }] },
    ];
    const { running, events } = await talk(create(), steps, { env, history });
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: "Done 🎉." }]);
    expect(running.refused.length).toBeLessThanOrEqual(1);
  });
});

describe("a session's effort", () => {
  const asked = async (vendor: Vendor, path: string) => {
    const running = await startVendor(vendor, Array(4).fill(done));
    onTestFinished(running.close);
    const env = { ...vendor.env(running.url), CHIMERA_THINKING_LEVEL: "low" };
    const models = createModels({ env, chain: anthropicFirst });
    const options = { resolveModel: () => models(vendor.model), tools: [look] };
    for (const effort of ["high", "medium", "off", "default"])
      await takeTurn(options, { settings: { options: { effort } } });
    expect(running.refused).toEqual([]);
    const found = (body: unknown) => path.split(".").reduce((at: unknown, key) => (at as Loose)?.[key], body);
    return running.answered.map(({ body }) => found(body));
  };

  it("is sent on every wire: the session's effort, or else the program's", async () => {
    const old = { model: "claude-haiku-4-5", thinking: "enabled", maxOutput: 64_000 } as const;
    const second = { model: "gemini-2.5-flash", third: false };
    const levels = ["high", "medium", undefined, "low"];
    expect(await asked(createClaude(), "output_config.effort")).toEqual(levels);
    expect(await asked(createClaude(old), "thinking.budget_tokens")).toEqual([24_576, 12_288, undefined, 4_096]);
    expect(await asked(createChatVendor(deepseek), "reasoning_effort")).toEqual(levels);
    expect(await asked(createAzure(), "reasoning.effort")).toEqual(levels);
    const config = "generationConfig.thinkingConfig";
    expect(await asked(createGemini(), `${config}.thinkingLevel`)).toEqual(["HIGH", "MEDIUM", undefined, "LOW"]);
    expect(await asked(createGemini(second), `${config}.thinkingBudget`)).toEqual([24_576, 12_288, undefined, 4_096]);
    expect(await asked(createOllama({ levels: true }), "think")).toEqual(levels);
  });

  it("that a model refuses is left out from then on, and its reasoning stays", async () => {
    const vendor = createAzure({ efforts: ["high"] });
    const running = await startVendor(vendor, [done, done]);
    onTestFinished(running.close);
    const models = createModels({ env: vendor.env(running.url), chain: anthropicFirst });
    const options = { resolveModel: () => models(vendor.model) };
    for (let n = 0; n < 2; n++) await takeTurn(options, { settings: { options: { effort: "low" } } });
    expect(running.refused).toHaveLength(1);
    expect(running.answered.map(({ body }) => body.include)).toEqual(Array(2).fill(["reasoning.encrypted_content"]));
  });
});

describe("Claude", () => {
  it("is asked with the person's effort, or a budget below its limit, and shows its thinking", async () => {
    const asked = async (model: string, thinking: "adaptive" | "enabled", maxOutput: number, level?: string) => {
      const env = level ? { CHIMERA_THINKING_LEVEL: level } : {};
      const { running } = await talk(createClaude({ model, thinking, maxOutput }), [done], { env });
      const { max_tokens, thinking: how, output_config } = running.answered[0]?.body ?? {};
      return { max_tokens, how, output_config, refused: running.refused.length };
    };
    const adaptive = { type: "adaptive", display: "summarized" };
    expect(await asked("claude-opus-5-5", "adaptive", 128_000, "high")).toEqual({
      max_tokens: 128_000,
      how: adaptive,
      output_config: { effort: "high" },
      refused: 0,
    });
    expect(await asked("claude-next", "adaptive", 128_000, "low")).toMatchObject({ how: adaptive, refused: 0 });
    expect(await asked("claude-sonnet-4-6", "adaptive", 128_000)).toMatchObject({ how: adaptive, refused: 0 });
    expect(await asked("claude-sonnet-4-6", "adaptive", 128_000, "off")).toMatchObject({ how: undefined, refused: 0 });
    expect(await asked("claude-haiku-4-5-20251001", "enabled", 64_000, "high")).toEqual({
      max_tokens: 64_000,
      how: { type: "enabled", budget_tokens: 24_576 },
      output_config: undefined,
      refused: 0,
    });
    expect(await asked("claude-opus-4-1", "enabled", 32_000, "high")).toMatchObject({ max_tokens: 32_000, refused: 0 });
    expect(await asked("claude-3-5-sonnet-latest", "enabled", 8_192)).toMatchObject({ max_tokens: 8_192, refused: 0 });
    expect(await asked("claude-3-haiku-20240307", "enabled", 4_096)).toMatchObject({ max_tokens: 4_096, refused: 0 });
  });

  it("that accepts only the other form of thinking is asked in that form from then on", async () => {
    const prompts = ["go", "again"];
    const old = createClaude({ model: "claude-future-9", thinking: "enabled" });
    const budget = await talk(old, [done, done], { env: { CHIMERA_THINKING_LEVEL: "medium" }, prompts });
    expect(budget.running.refused).toEqual(["adaptive thinking is not supported on this model"]);
    expect(budget.running.answered.map(({ body }) => body.thinking)).toEqual(
      Array(2).fill({ type: "enabled", budget_tokens: 12_288 }),
    );
    const young = createClaude({ model: "claude-opus-4-5", thinking: "adaptive", maxOutput: 64_000 });
    const adaptive = await talk(young, [done, done], { env: { CHIMERA_THINKING_LEVEL: "medium" }, prompts });
    expect(adaptive.running.refused).toHaveLength(1);
    expect(adaptive.running.answered.map(({ body }) => body.output_config)).toEqual(
      Array(2).fill({ effort: "medium" }),
    );
    const none = await talk(createClaude({ model: "claude-future-9", thinking: "enabled" }), [done, done], { prompts });
    expect(none.running.answered.map(({ body }) => body.thinking)).toEqual([undefined, undefined]);
  });

  it.each([
    [true, "adaptive thinking is not supported on this model"],
    [true, "claude-3-5-haiku-20241022 does not support thinking."],
    [true, "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'enabled'"],
    [true, "output_config: Extra inputs are not permitted"],
    [true, "output_config.effort: Input should be 'low' or 'high'"],
    [true, 'unknown field "thinking"'],
    [false, "tools.0.description: This tool is for thinking about a plan"],
    [false, "thinking of what you asked for: no"],
    [false, "messages.1.content.0: unexpected `thinking` block"],
    [false, "Your credit balance is too low; the effort to go on was refused"],
  ])("is asked in another way (%s) after the refusal %j", async (changes, words) => {
    const claude = createClaude();
    let asked = 0;
    const vendor: Vendor = {
      ...claude,
      answer(request, next) {
        const body = { type: "error", error: { type: "invalid_request_error", message: words } };
        if (asked++ === 0) throw new Refusal(400, body, words);
        return claude.answer(request, next);
      },
    };
    const { running, events } = await talk(vendor, [done]);
    expect(of(events, "agent_result")).toMatchObject([{ success: changes }]);
    expect(running.answered.map(({ body }) => body.thinking)).toEqual(changes ? [undefined] : []);
  });

  it("keeps its thinking when several requests learn at once how to ask for it", async () => {
    const vendor = createClaude({ model: "claude-future-9", thinking: "enabled" });
    const running = await startVendor(vendor, Array(6).fill(done));
    onTestFinished(running.close);
    const env = { ...vendor.env(running.url), CHIMERA_THINKING_LEVEL: "low" };
    const models = createModels({ env, chain: anthropicFirst });
    const agent = createAgent({ resolveModel: () => models(vendor.model) });
    const turns = Array.from({ length: 6 }, async () => {
      const conversation = createConversation(agent, { workspace: contextOf({}).workspace });
      for await (const _ of conversation.prompt("go"));
    });
    await Promise.all(turns);
    expect(running.answered.map(({ body }) => body.thinking)).toEqual(
      Array(6).fill({ type: "enabled", budget_tokens: 4_096 }),
    );
  });

  it("reads the whole conversation from its cache, even after fifteen calls at once", async () => {
    const vendor = createClaude();
    const many = { says: Array.from({ length: 15 }, (_, n) => call(`f${n}`)) };
    await talk(vendor, [many, many, many, done], {});
    // The system text and the prompt, and 15 more calls and results each time.
    expect(vendor.cacheReads).toEqual([0, 2, 32, 62]);
  });

  it("that still refuses its thinking gets the conversation without it, and the session continues", async () => {
    const first = await talk(createClaude(), steps);
    // Another account, for which no earlier signature is valid.
    const { running, events } = await talk(createClaude(), [...steps, done], {
      history: first.messages,
      prompts: ["go on", "and on"],
    });
    expect(of(events, "agent_result")).toMatchObject([{ success: true }, { success: true }]);
    expect(running.refused).toEqual([expect.stringContaining("Invalid `signature`")]);
  });
});

describe("OpenAI", () => {
  it("is asked at the endpoint that it names from then on", async () => {
    const { running } = await talk(createMovedModel("gpt-6.1-sol"), [...steps, done], { prompts: ["go", "again"] });
    expect(running.refused).toEqual([expect.stringContaining("use /v1/responses")]);
    expect(new Set(running.answered.map(({ path }) => path))).toEqual(new Set(["/v1/responses"]));
    expect(running.answered[0]?.body).toMatchObject({ store: false, prompt_cache_key: "conversation" });
  });

  it("is asked there again by all requests that were under way", async () => {
    const vendor = createMovedModel("gpt-6.1-sol");
    const running = await startVendor(vendor, Array(6).fill(done));
    onTestFinished(running.close);
    const models = createModels({ env: vendor.env(running.url), chain: anthropicFirst });
    const agent = createAgent({ resolveModel: () => models(vendor.model), tools: [look] });
    const turns = Array.from({ length: 6 }, async () => {
      const events: AgentEvent[] = [];
      const conversation = createConversation(agent, { workspace: contextOf({}).workspace });
      for await (const event of conversation.prompt("go")) events.push(event);
      return of(events, "agent_result")[0]?.success;
    });
    expect(await Promise.all(turns)).toEqual(Array(6).fill(true));
  });

  it("gets the items of each reply back unchanged, each call followed by its output", async () => {
    const vendor = createResponses();
    const models = "gpt-5.6-sol";
    expect(vendor.model).toBe(models);
    const replies: ModelReply[] = [
      { says: [{ reasoning: "Plan." }, call("a")] },
      { says: [{ hidden: true }, { text: "Between." }, { reasoning: "More." }, call("c")] },
      done,
    ];
    const { running } = await talk(createMovedModel("gpt-5.6-sol"), replies);
    const { input } = running.answered[2]?.body ?? {};
    expect(input.map((item: { type?: string; role: string }) => item.type ?? item.role)).toEqual([
      "user",
      ...["reasoning", "function_call", "function_call_output"],
      ...["reasoning", "message", "reasoning", "function_call", "function_call_output"],
    ]);
    expect(input[5]).toMatchObject({ phase: "commentary", content: [{ type: "output_text", text: "Between." }] });
  });

  it("is asked for no more than the model can write, in the field that its server accepts", async () => {
    const asked = async (dialect: ChatDialect, replies = [done, done]) => {
      const { running, events } = await talk(createChatVendor(dialect), replies, { prompts: ["go", "again"] });
      expect(of(events, "agent_result")).toMatchObject([{ success: true }, { success: true }]);
      const limits = running.answered.map(({ body }) => [body.max_completion_tokens, body.max_tokens]);
      return { limits, refused: running.refused.length };
    };
    const never = [undefined, undefined];
    expect(await asked(openaiChat)).toEqual({ limits: Array(2).fill([16_384, undefined]), refused: 0 });
    expect(await asked(openrouter)).toEqual({ limits: Array(2).fill([undefined, 128_000]), refused: 0 });
    expect(await asked(geminiChat)).toEqual({ limits: [never, never], refused: 0 });
    // An older server at the same address, one with a lower limit, and one that accepts neither field.
    const older = { ...openaiChat, fields: ["max_tokens"] };
    expect(await asked(older)).toEqual({ limits: Array(2).fill([undefined, 16_384]), refused: 1 });
    expect(await asked({ ...openaiChat, maxOutput: 4_096 })).toEqual({ limits: [never, never], refused: 1 });
    expect(await asked({ ...openaiChat, fields: [] })).toEqual({ limits: [never, never], refused: 2 });
    // The limit alone fills the window; messages from claude-code-best/claude-code#272 and ChatGPTNextWeb/NextChat#3195.
    for (const words of [
      "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 8192 tokens and your request has 235 input tokens (16384 > 8192 - 235). None",
      "This model's maximum context length is 8192 tokens. However, you requested 16448 tokens (64 in the messages, 16384 in the completion). Please reduce the length of the messages or completion.",
    ]) {
      const check = ({ max_completion_tokens: limit }: { max_completion_tokens?: number }) => {
        if (limit !== undefined) invalid(words);
      };
      expect(await asked({ ...openaiChat, check })).toEqual({ limits: [never, never], refused: 1 });
    }
  });

  it("without reasoning, or without summaries of it, is not asked for them again", async () => {
    for (const offers of [[], ["reasoning"]] as const) {
      const vendor = createResponses({
        model: "azure/x",
        path: "/openai/v1/responses",
        keyHeader: "api-key",
        env: (url) => ({ AZURE_OPENAI_API_KEY: "z", AZURE_OPENAI_ENDPOINT: url }),
        offers,
      });
      const { running, events } = await talk(vendor, [done, done], { prompts: ["go", "again"] });
      expect(of(events, "agent_result")).toMatchObject([{ success: true }, { success: true }]);
      expect(running.refused.length).toBeLessThanOrEqual(2);
    }
  });
});

describe("Gemini", () => {
  it("is asked to think with a level from 3 on, with tokens before, and to show its thoughts", async () => {
    const asked = async (vendor: Vendor, level: string) =>
      (await talk(vendor, [done], { env: { CHIMERA_THINKING_LEVEL: level } })).running.answered[0]?.body
        .generationConfig;
    expect(await asked(createGemini(), "low")).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingLevel: "LOW" },
    });
    const second = { model: "gemini-2.5-flash", third: false };
    expect(await asked(createGemini(second), "medium")).toEqual({
      thinkingConfig: { includeThoughts: true, thinkingBudget: 12_288 },
    });
    expect(await asked(createGemini(second), "off")).toBeUndefined();
    expect(await asked(createGemini({ model: "gemini-2.0-flash", third: false }), "high")).toBeUndefined();
  });

  it("gets signatures back on their own parts, and a placeholder for a missing one", async () => {
    const { running } = await talk(createGemini(), [...steps, done], { prompts: ["go", "thanks"] });
    const { contents } = running.answered.at(-1)?.body ?? {};
    const replies = contents.filter(({ role }: { role: string }) => role === "model");
    const signed = replies.map(({ parts }: { parts: object[] }) => parts.map((part) => "thoughtSignature" in part));
    // Two texts without signatures become one, because their pieces look the same.
    expect(signed).toEqual([[false, true, false], [true], [false, true], [true]]);
    expect(JSON.stringify(contents)).not.toContain("skip_thought_signature_validator");
  });
});

describe("Ollama", () => {
  it("is asked for the context of the model, of its file, or of the person's setting", async () => {
    const asked = async (vendor: Vendor, env = {}) => {
      const { running, events } = await talk(vendor, [done], { env });
      return [running.answered[0]?.body.options?.num_ctx, of(events, "usage")[0]?.size];
    };
    expect(await asked(createOllama({ contextLength: 40_960 }))).toEqual([40_960, 40_960]);
    expect(await asked(createOllama({ contextLength: 10_000_000 }))).toEqual([131_072, 131_072]);
    const file = { parameters: 'stop "x"\nnum_ctx                        16384\n' };
    expect(await asked(createOllama(file))).toEqual([16_384, 16_384]);
    expect(await asked(createOllama(), { OLLAMA_CONTEXT_LENGTH: "8192" })).toEqual([8_192, 8_192]);
    // A server without details about its models.
    const { answer, ...plain } = createOllama();
    const silent: Vendor["answer"] = (request, next) =>
      request.path === "/api/show" ? { status: 404, body: { detail: "Not Found" } } : answer(request, next);
    expect(await asked({ ...plain, answer: silent })).toEqual([32_768, 32_768]);
  });

  it("is asked to think only as the model allows", async () => {
    const env = { CHIMERA_THINKING_LEVEL: "high" };
    const asked = async (vendor: Vendor) => (await talk(vendor, [done, done], { env, prompts: ["a", "b"] })).running;
    expect((await asked(createOllama({ levels: true }))).answered.map(({ body }) => body.think)).toEqual([
      "high",
      "high",
    ]);
    const plain = await asked(createOllama());
    expect(plain.answered.map(({ body }) => body.think)).toEqual([true, true]);
    expect(plain.refused).toHaveLength(1);
    const without = await asked(createOllama({ capabilities: ["completion", "tools"] }));
    expect(without.answered.map(({ body }) => body.think)).toEqual([undefined, undefined]);
    expect(without.refused).toEqual([]);
  });

  it("without the model gives an error that says how to get it", async () => {
    const vendor = { ...createOllama(), model: "ollama/nowhere" };
    const { events } = await talk(vendor, [done]);
    expect(of(events, "error")).toEqual([
      {
        name: "model_unavailable",
        message: expect.stringContaining("Ollama says: model 'nowhere' not found. `ollama pull nowhere` fetches it; "),
        retryable: false,
      },
    ]);
  });
});
