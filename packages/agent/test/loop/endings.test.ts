import { describe, expect, it } from "vitest";
import { AgentError } from "../../src/index.js";
import { createScriptedModel, parseScript, type ScriptInput } from "../../src/scripted.js";
import { of, takeTurn, toolNamed } from "../take-turn.js";

type Steps = ScriptInput["turns"][number]["steps"];

const scripted = (steps: Steps, more: Partial<ScriptInput> = {}) => ({
  resolveModel: () => createScriptedModel(parseScript({ turns: [{ steps }], ...more })),
  tools: [toolNamed("look", async () => ({ success: true, output: "seen" }))],
});

describe("a turn ends", () => {
  it("with end_turn when the model stops", async () => {
    const events = await takeTurn(scripted([{ reply: [{ text: "Hello there", chunks: 3 }] }]));
    expect(events.at(-2)).toEqual({ type: "turn_end", metadata: { stop_reason: "end_turn" } });
    expect(events.at(-1)?.metadata).toEqual({
      output: "Hello there",
      steps: 1,
      tool_calls_total: 0,
      cost: 0,
      success: true,
      error: null,
    });
  });

  it("with the last step's text as its output after tools ran", async () => {
    const events = await takeTurn(
      scripted([{ reply: [{ text: "Looking." }, { call: "look" }] }, { reply: [{ text: "Done." }] }]),
    );
    expect(events.at(-1)?.metadata).toMatchObject({ output: "Done.", steps: 2, tool_calls_total: 1, success: true });
  });

  it("with a refusal when the model refuses, and runs none of that reply's calls", async () => {
    const events = await takeTurn(scripted([{ reply: [{ text: "Par" }, { call: "look" }], stop: "refusal" }]));
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "refusal" }]);
    expect(of(events, "tool_call")).toEqual([]);
    expect(events.at(-1)?.metadata).toMatchObject({ output: "Par", success: false, error: expect.any(String) });
  });

  it("with max_turn_requests at the step limit", async () => {
    const steps: Steps = Array.from({ length: 5 }, () => ({ reply: [{ call: "look" }] }));
    const events = await takeTurn(scripted(steps), { settings: { maxSteps: 3 } });
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "max_turn_requests" }]);
    expect(events.at(-1)?.metadata).toMatchObject({ steps: 3, tool_calls_total: 3, success: false });
  });

  it("with an error event when the model fails for good, and keeps its text so far", async () => {
    const error = { code: "unauthorized", message: "the key was withdrawn" } as const;
    const events = await takeTurn(scripted([{ reply: [{ text: "Half a sen" }, { error }] }]));
    expect(of(events, "error")).toEqual([{ name: "unauthorized", message: error.message, retryable: false }]);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "error" }]);
    expect(events.at(-1)?.metadata).toMatchObject({ output: "Half a sen", success: false });
  });

  it("with an error event when the model does not exist, or a part of the agent throws", async () => {
    const resolveModel = () => Promise.reject(new AgentError("model_unavailable", "no such model"));
    expect(of(await takeTurn({ resolveModel }), "error")).toMatchObject([{ name: "model_unavailable" }]);
    const broken = () => Promise.reject(new Error("gone"));
    expect(of(await takeTurn({ resolveModel: broken }), "error")).toMatchObject([
      { name: "internal", message: "gone" },
    ]);
  });
});

describe("a cost limit", () => {
  const usage = { usage: { input: 1_000_000 } };
  const spending = (): ReturnType<typeof scripted> =>
    scripted(
      [{ reply: [usage, { call: "look" }] }, { reply: [usage, { call: "look" }] }, { reply: [{ text: "Done." }] }],
      {
        price: { input: 1, output: 1 },
      },
    );

  it("stops the turn when nobody can answer", async () => {
    const events = await takeTurn(spending(), { settings: { maxCostUsd: 0.5 } });
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "max_tokens" }]);
    expect(events.at(-1)?.metadata).toMatchObject({
      steps: 1,
      cost: 1,
      success: false,
      error: expect.stringContaining("cost"),
    });
  });

  it("asks, and continues as far as the answer allows", async () => {
    const asked: unknown[] = [];
    const ask = async (request: { tool: string; options?: readonly string[] }) => {
      asked.push(request.options);
      return { decision: "allow", by: "client" } as const;
    };
    const events = await takeTurn(spending(), { settings: { maxCostUsd: 1.5 }, context: { ask } });
    expect(asked).toEqual([["allow", "deny"]]);
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "end_turn" }]);
  });

  it("counts the cost of earlier turns", async () => {
    const events = await takeTurn(spending(), { settings: { maxCostUsd: 3, spentUsd: 2.5 } });
    expect(of(events, "usage")).toMatchObject([{ total_usd: 3.5, input: 1_000_000, priced: true }]);
    expect(events.at(-1)?.metadata).toMatchObject({ steps: 1, cost: 1 });
  });
});

describe("a cost limit with an unknown price", () => {
  const unpriced = () => {
    const { resolveModel, tools } = scripted([{ reply: [{ call: "look" }] }, { reply: [{ text: "Done." }] }]);
    return { tools, resolveModel: () => ({ ...resolveModel(), id: "gpt-6.1-sol", price: null }) };
  };

  it("stops the turn before it costs anything when nobody can answer, and says why", async () => {
    const events = await takeTurn(unpriced(), { settings: { maxCostUsd: 1 } });
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "max_tokens" }]);
    expect(of(events, "agent_result")).toMatchObject([
      { steps: 0, success: false, error: expect.stringContaining("the price of gpt-6.1-sol is not known") },
    ]);
  });

  it("asks once, and continues after a yes", async () => {
    const asked: unknown[] = [];
    const ask = async ({ tool, args }: { tool: string; args: object }) => {
      asked.push([tool, args]);
      return { decision: "allow", by: "client" } as const;
    };
    const events = await takeTurn(unpriced(), { settings: { maxCostUsd: 1 }, context: { ask } });
    expect(asked).toEqual([["continue_over_budget", { spent_usd: 0, limit_usd: 1, priced: false }]]);
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: "Done." }]);
  });

  it("does not matter without a limit", async () => {
    expect(of(await takeTurn(unpriced()), "agent_result")).toMatchObject([{ success: true }]);
  });
});
