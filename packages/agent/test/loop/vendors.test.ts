/** Interrupted replies and compactions with each vendor, as strict as the real one: it must accept the requests that follow. */
import type { AgentEvent } from "@chimera/acp-schema/events";
import { describe, expect, it, onTestFinished } from "vitest";
import { anthropicFirst, createAgent, createConversation } from "../../src/index.js";
import { createModels, type Model } from "../../src/providers/index.js";
import { contextOf, of, textOf, toolNamed } from "../take-turn.js";
import { vendors } from "../vendors/all.js";
import { createClaude } from "../vendors/claude.js";
import { type ModelReply, startVendor, type Vendor } from "../vendors/vendor.js";

const call = (path: string) => ({ call: "look", args: { path } });
const think = { reasoning: "Next." };

/** Takes turns. `window` is the context window of the model in tokens, `lengths` are the lengths of the results in characters. */
async function talk(
  vendor: Vendor,
  replies: readonly ModelReply[],
  { env = {}, prompts = ["go"], window = 0, lengths = {} as Record<string, number> } = {},
) {
  const running = await startVendor(vendor, replies);
  onTestFinished(running.close);
  const models = createModels({ env: { ...vendor.env(running.url), ...env }, chain: anthropicFirst });
  const look = toolNamed("look", async ({ path }) => ({
    success: true,
    output: `<${String(path)}>`.padEnd(lengths[String(path)] ?? 0, "."),
  }));
  const agent = createAgent({
    resolveModel: async () => held(await models(vendor.model), window),
    tools: [look],
    clock: { now: () => 0, sleep: async () => {} },
  });
  const conversation = createConversation(agent, { workspace: contextOf({}).workspace });
  const events: AgentEvent[] = [];
  for (const prompt of prompts) for await (const event of conversation.prompt(prompt)) events.push(event);
  // One may say at first that it wants to be asked elsewhere, or otherwise.
  expect(running.refused.length, running.refused.join("\n")).toBeLessThanOrEqual(1);
  expect(running.left()).toBe(0);
  return { events, requests: running.answered.map(({ body }) => JSON.stringify(body)) };
}

/** The model with a smaller window and without its token counts, which other tests cover. */
function held(model: Model, window: number): Model {
  if (window === 0) return model;
  return {
    ...model,
    contextWindow: window,
    async *stream(request) {
      for await (const batch of model.stream(request)) yield batch.filter((event) => event.type !== "usage");
    },
  };
}

describe.each(vendors)("$name", ({ create, env = {} }) => {
  it("goes on after a reply that was too long, and runs none of the calls that were cut", async () => {
    const replies: ModelReply[] = [
      { says: [think, { text: "And so " }, call("a")], stop: "max_tokens" },
      { says: [think, { text: "on." }, call("b")] },
      { says: [think, { text: "Done." }] },
      { says: [think, { text: "Again." }] },
    ];
    const { events } = await talk(create(), replies, { env, prompts: ["go", "again"] });
    expect(textOf(events)).toBe("And so on.Done.Again.");
    expect(of(events, "tool_call").map(({ args }) => args)).toEqual([{ path: "b" }]);
    expect(of(events, "agent_result")).toMatchObject([{ success: true }, { success: true }]);
  });

  it("goes on after a reply of nothing but a thought", async () => {
    const replies: ModelReply[] = [{ says: [think, call("a")] }, { says: [think] }, { says: [{ text: "Done." }] }];
    const { events } = await talk(create(), replies, { env });
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: "Done." }]);
  });

  it("accepts the conversation after a compaction in the middle of a turn, and in the next turn", async () => {
    const replies: ModelReply[] = [
      { says: [think, call("a")] },
      { says: [think, call("b")] },
      { says: [think, { text: "Both." }, call("c"), call("d")] },
      { says: [think, { text: "## Requests\nLook at four files." }] },
      { says: [think, call("e")] },
      { says: [think, { text: "Done." }] },
      { says: [think, { text: "Yes." }] },
    ];
    const { events, requests } = await talk(create(), replies, {
      env,
      prompts: ["Look at four files.", "Did you?"],
      window: 20_000,
      lengths: { a: 24_000, b: 24_000, c: 8_000, d: 8_000 },
    });
    expect(of(events, "compaction")).toMatchObject([{ summary: expect.stringContaining("## Requests"), from_turn: 0 }]);
    expect(of(events, "agent_result")).toMatchObject([
      { success: true, output: "Done.", tool_calls_total: 5 },
      { success: true, output: "Yes." },
    ]);
    // The request for a summary had everything. The summary, the prompt and the unanswered messages stay.
    const [summing = "", after = ""] = requests.slice(-4);
    for (const path of ["<a>", "<b>", "<c>", "<d>"]) expect(summing).toContain(path);
    expect(after).toContain("Look at four files.");
    expect(after).toContain("<d>");
    expect(after).not.toContain("<a>");
  });
});

describe("a Claude that pauses its reply", () => {
  it("gets the same conversation again with the unchanged reply, and continues", async () => {
    const replies: ModelReply[] = [
      { says: [think, call("a")] },
      { says: [think, { text: "I search. " }], stop: "pause_turn" },
      { says: [think, { text: "Still. " }], stop: "pause_turn" },
      { says: [think, { text: "Found." }, call("b")] },
      { says: [think, { text: "Done." }] },
      { says: [{ text: "Yes." }] },
    ];
    const { events, requests } = await talk(createClaude(), replies, { prompts: ["go", "again"] });
    expect(textOf(events)).toBe("I search. Still. Found.Done.Yes.");
    expect(of(events, "tool_call").map(({ args }) => args)).toEqual([{ path: "a" }, { path: "b" }]);
    expect(of(events, "agent_result")).toMatchObject([{ success: true, steps: 5 }, { success: true }]);
    const last = JSON.parse(requests[2] ?? "").messages.at(-1);
    expect(last).toMatchObject({ role: "assistant", content: [{ type: "thinking" }, { text: "I search. " }] });
  });

  it("too often fails the turn", async () => {
    const replies = Array.from({ length: 11 }, (): ModelReply => ({ says: [{ text: "Wait. " }], stop: "pause_turn" }));
    const { events, requests } = await talk(createClaude(), replies);
    expect(of(events, "error")).toMatchObject([
      { name: "provider_failed", message: expect.stringContaining("paused") },
    ]);
    expect(requests).toHaveLength(11);
  });
});
