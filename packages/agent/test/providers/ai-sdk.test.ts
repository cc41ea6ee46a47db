import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "../../src/ai-sdk.js";
import { type AgentOptions, createAgent, createConversation } from "../../src/index.js";
import type { ModelMessage } from "../../src/providers/index.js";
import { contextOf, of, takeTurn, toolNamed } from "../take-turn.js";
import { serveWire, type WireReply } from "./wire-server.js";
import { anthropic, chat, said, type WireFormat } from "./wires.js";

interface Package {
  readonly wire: WireFormat;
  model(url: string): AiSdkModel;
  /** Where the second request has the reply's reasoning. */
  readonly reasoningBack: object;
  assistantIn(body: Record<string, unknown>): unknown;
}

const assistantIn = (body: Record<string, unknown>): unknown =>
  (body["messages"] as { role: string }[]).find((message) => message.role === "assistant");

/** A published package for each version of the provider specification. */
const packages: Record<string, Package> = {
  "@ai-sdk/anthropic, v3": {
    wire: anthropic,
    model: (url) => createAnthropic({ baseURL: `${url}/v1`, apiKey: "k" })("claude-sonnet-4-6"),
    reasoningBack: {
      content: [{ type: "thinking", thinking: said.thoughts.join(""), signature: "c2lnbmVk" }, {}, {}, {}],
    },
    assistantIn,
  },
  "@ai-sdk/openai-compatible, v4": {
    wire: chat,
    model: (url) => createOpenAICompatible({ name: "shop", baseURL: `${url}/v1`, includeUsage: true })("m"),
    reasoningBack: { reasoning_content: said.thoughts.join("") },
    assistantIn,
  },
};

const look = toolNamed("look", async (input) => ({ success: true, output: `saw ${String(input["path"])}` }), {
  input: v.object({ path: v.string() }),
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
});

describe.each(Object.entries(packages))("a model of %s", (_name, { wire, model, reasoningBack, assistantIn }) => {
  const serve = async (replies: readonly WireReply[], options?: AiSdkOptions) => {
    const server = await serveWire(replies);
    const agent: AgentOptions = {
      resolveModel: () => fromAiSdk(model(server.url), options),
      clock: { now: () => performance.now(), sleep: async () => {} },
      systemPrompt: "You are a test.",
      tools: [look],
    };
    return { server, agent };
  };

  test("thinks, writes text, makes parallel calls, and gets everything back in the next request", async () => {
    const { server, agent } = await serve([{ writes: [wire.calling] }, { writes: [wire.closing] }]);
    const events = await takeTurn(agent);
    expect(of(events, "error")).toEqual([]);
    expect(
      of(events, "thought_delta")
        .map(({ text }) => text)
        .join(""),
    ).toBe(said.thoughts.join(""));
    expect(of(events, "tool_call").map(({ args }) => args)).toEqual([{ path: "a.txt" }, { path: "b.txt" }]);
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: said.closing.join("") }]);
    const [, second] = server.requests;
    expect(assistantIn(second?.body ?? {})).toMatchObject(reasoningBack);
    expect(JSON.stringify(second?.body)).toContain("saw a.txt");
  });

  test("keeps the vendor's own data across turns", async () => {
    const { server, agent } = await serve([
      { writes: [wire.calling] },
      { writes: [wire.closing] },
      { writes: [wire.closing] },
    ]);
    const { workspace } = contextOf({});
    const conversation = createConversation(createAgent(agent), { workspace, settings: { autoApproveExecute: true } });
    for (const prompt of ["one", "two"]) for await (const _ of conversation.prompt(prompt));
    expect(assistantIn(server.requests[2]?.body ?? {})).toMatchObject(reasoningBack);
  });

  test("counts its tokens", async () => {
    const { agent } = await serve([{ writes: [wire.closing] }]);
    const [usage] = of(await takeTurn(agent), "usage");
    expect(usage).toMatchObject({ input: 40, cache: 60, output: 25, priced: false });
  });

  test.each([
    ["in the middle of a call", (whole: string) => whole.slice(0, whole.indexOf('th\\":\\"a.txt') + 20)],
    ["in the middle of the text", () => wire.opening("half a sen")],
  ])("a reply that breaks off %s runs no call", async (_title, cut) => {
    for (const after of ["end", "cut"] as const) {
      const { agent } = await serve([{ writes: [cut(wire.calling)], after }]);
      const events = await takeTurn(agent);
      expect(of(events, "tool_call"), after).toEqual([]);
      expect(of(events, "agent_result"), after).toMatchObject([{ success: false }]);
    }
  });

  test.each([
    ["a refusal of the key", 401, "{}", "unauthorized"],
    ["a conversation that is too long", wireStatus(wire), wire.overflow.body, "context_overflow"],
    ["a failure", 500, "oops", "provider_failed"],
  ])("%s becomes a typed error", async (_title, status, body, code) => {
    const { agent } = await serve([{ status, writes: [body] }]);
    expect(of(await takeTurn(agent), "error")).toMatchObject([{ name: code }]);
  });

  test("a cancel ends it", async () => {
    const { server, agent } = await serve([{ writes: [wire.opening("hello")], after: "hang" }]);
    const controller = new AbortController();
    const events = await takeTurn(agent, {
      context: { signal: controller.signal },
      onEvent: (event) => event.type === "text_delta" && controller.abort(),
    });
    expect(events.at(-1)).toMatchObject({ type: "cancelled" });
    // Node's fetch replaces the cut connection by a new one.
    await expect.poll(() => server.connections() - server.open()).toBeGreaterThan(0);
  });
});

test("pictures of tools are sent in a message of their own, which every package sends as pictures", async () => {
  const server = await serveWire([{ writes: [chat.closing] }]);
  const picture = { mimeType: "image/png" as const, data: "iVBORw0KGgo=" };
  const messages: ModelMessage[] = [
    { role: "user", text: "look" },
    { role: "assistant", parts: [{ type: "call", id: "c1", name: "look", args: { path: "a.png" } }] },
    { role: "tool", id: "c1", name: "look", success: true, output: "a picture", images: [picture] },
  ];
  const { stream } = fromAiSdk(packages["@ai-sdk/openai-compatible, v4"]?.model(server.url) as AiSdkModel);
  for await (const _ of stream({ system: "", messages, tools: [], signal: new AbortController().signal }));
  const sent = server.requests[0]?.body["messages"] as { role: string; content: unknown }[];
  expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  expect(sent[2]?.content).toBe("a picture");
  expect(JSON.stringify(sent[3])).toContain("data:image/png;base64,iVBORw0KGgo=");
});

/** A model that yields these parts, one list per request, and keeps its prompts. */
function playing(modelId: string, ...replies: object[][]) {
  const prompts: { role: string; content: Record<string, unknown>[] }[][] = [];
  const model: AiSdkModel = {
    specificationVersion: "v4",
    provider: "p",
    modelId,
    doStream: async ({ prompt }) => {
      prompts.push(structuredClone(prompt));
      return { stream: ReadableStream.from(replies[Math.min(prompts.length, replies.length) - 1] ?? []) };
    },
  };
  const clock = { now: () => 0, sleep: async () => {} };
  return { prompts, agent: { resolveModel: () => fromAiSdk(model), tools: [look], clock } };
}

const finish = (unified: string, raw?: string) => ({ type: "finish", usage: {}, finishReason: { unified, raw } });
const calling = (toolCallId: string, path = "a") => ({
  type: "tool-call",
  toolCallId,
  toolName: "look",
  input: JSON.stringify({ path }),
});
const saying = (delta: string) => [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta },
  { type: "text-end", id: "t" },
];
const closing = [...saying("Done."), finish("stop", "stop")];

test.each([
  ["interrupted, as anthropic, openai and google say", [calling("c"), finish("interrupted")]],
  ["other without the vendor's word, as deepseek and openrouter say", [calling("c"), finish("other")]],
  [
    "an empty object without the vendor's word, as openrouter says",
    [{ ...calling("c"), input: "{}" }, finish("tool-calls")],
  ],
  [
    "an error, as openai-compatible says",
    [calling("c"), { type: "error", error: new Error("ended without a finish reason") }],
  ],
  ["nothing at all", [calling("c")]],
])(
  "a reply that ends with %s counts as broken off: it is requested again, and its calls do not run",
  async (_how, cut) => {
    const { agent, prompts } = playing("m", cut, closing);
    const events = await takeTurn(agent);
    expect(of(events, "tool_call")).toEqual([]);
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: "Done." }]);
    expect(prompts).toHaveLength(2);
  },
);

test("a reply that the vendor pauses is continued", async () => {
  const { agent, prompts } = playing("m", [...saying("Wait. "), finish("stop", "pause_turn")], closing);
  expect(of(await takeTurn(agent), "agent_result")).toMatchObject([{ success: true, steps: 2 }]);
  expect(prompts[1]?.at(-1)).toMatchObject({ role: "assistant", content: [{ type: "text", text: "Wait. " }] });
});

test("invalid, missing and repeated ids become unique ids", async () => {
  const ids = ["functions.look:0", "", "x", "x"];
  const calls = ids.map((id, n) => calling(id, `f${n}`));
  const { agent, prompts } = playing("m", [...calls, finish("tool-calls", "tool_calls")], closing);
  await takeTurn(agent);
  const content = prompts[1]?.flatMap((message) => message.content) ?? [];
  const sent = content.flatMap(({ type, toolCallId }) => (type === "tool-call" ? [String(toolCallId)] : []));
  expect(new Set(sent).size).toBe(4);
  for (const id of sent) expect(id).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(content.flatMap(({ type, toolCallId }) => (type === "tool-result" ? [toolCallId] : []))).toEqual(sent);
});

test("a part's metadata from its start, deltas and end goes back complete, and only to the same model", async () => {
  const thinking = [
    { type: "reasoning-start", id: "r", providerMetadata: { p: { itemId: "i" } } },
    { type: "reasoning-delta", id: "r", delta: "Hm.", providerMetadata: { p: { format: "f" } } },
    { type: "reasoning-end", id: "r", providerMetadata: { p: { encrypted: "e" } } },
    { type: "custom", kind: "p.compaction", providerMetadata: { p: { type: "compaction" } } },
  ];
  const first = playing("m", [...thinking, calling("c"), finish("tool-calls", "tool_calls")], closing, closing);
  const other = playing("n", closing);
  let current = first.agent;
  const agent = createAgent({ ...first.agent, resolveModel: () => current.resolveModel() });
  const conversation = createConversation(agent, { workspace: contextOf({}).workspace });
  const ask = async () => {
    for await (const _ of conversation.prompt("go"));
  };
  await ask();
  await ask();
  const seals = (prompt: (typeof first.prompts)[number] | undefined) =>
    prompt
      ?.flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .flatMap((part) => part["providerOptions"] ?? []);
  const whole = [{ p: { itemId: "i", format: "f", encrypted: "e" } }];
  expect([seals(first.prompts[1]), seals(first.prompts[2])]).toEqual([whole, whole]);
  expect(JSON.stringify(first.prompts[1])).not.toContain("compaction");
  current = other.agent;
  await ask();
  expect(seals(other.prompts[0])).toEqual([]);
});

test("a model of an older specification is refused with a remedy", () => {
  const old = { specificationVersion: "v2", provider: "p", modelId: "m", doStream: () => Promise.reject() };
  expect(() => fromAiSdk(old)).toThrow(/Update the package/);
});

function wireStatus({ overflow }: WireFormat): number {
  return overflow.status;
}
