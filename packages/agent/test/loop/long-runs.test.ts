import { describe, expect, it } from "vitest";
import type { AgentContext } from "../../src/index.js";
import { createScriptedModel, parseScript, type ScriptInput } from "../../src/scripted.js";
import { of, takeTurn, toolNamed } from "../take-turn.js";

type Steps = ScriptInput["turns"][number]["steps"];

let calls = 0;
const same = toolNamed("same", async () => ({ success: true, output: "as ever" }));
const failing = toolNamed("failing", async () => ({ success: false, output: "no such text", error: "edit_no_match" }));
const counter = toolNamed("counter", async () => ({ success: true, output: String(calls++) }));

const play = (steps: Steps, options = {}) => ({
  resolveModel: () => createScriptedModel(parseScript({ turns: [{ steps }] })),
  tools: [same, failing, counter],
  ...options,
});
const call = (name: string, args: Record<string, unknown> = {}): Steps[number] => ({ reply: [{ call: name, args }] });
const times = (count: number, step: (n: number) => Steps[number]): Steps =>
  Array.from({ length: count }, (_, n) => step(n));
const done: Steps[number] = { reply: [{ text: "Done." }] };

describe("a model that makes the same call with the same result", () => {
  it.each(["same", "failing"])("(%s) gets a note from the third time on, and is stopped at the sixth", async (name) => {
    const events = await takeTurn(play(times(50, () => call(name, { path: "a" }))));
    const outputs = of(events, "tool_result").map(({ output }) => output);
    expect(outputs).toHaveLength(6);
    expect(outputs.map((output) => /made (\d) times in a row/.exec(output)?.[1])).toEqual([
      undefined,
      undefined,
      "3",
      "4",
      "5",
      "6",
    ]);
    expect(of(events, "error")).toEqual([
      { name: "stuck", message: expect.stringContaining(`called ${name} 6 times`), retryable: false },
    ]);
    expect(of(events, "agent_result")).toMatchObject([{ success: false, error: expect.stringContaining("6 times") }]);
  });

  it("continues when it heeds the note", async () => {
    const events = await takeTurn(play([...times(4, () => call("same")), done]));
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: "Done." }]);
  });

  it("and another call in turn is repeating itself as well", async () => {
    const events = await takeTurn(play(times(50, (n) => call(n % 2 ? "same" : "failing"))));
    expect(of(events, "error")).toMatchObject([{ name: "stuck" }]);
    expect(of(events, "tool_result").length).toBeLessThan(13);
  });

  it("is not repeating itself if the result or the arguments change, or something new happens in between", async () => {
    for (const step of [
      () => call("counter"),
      (n: number) => call("same", { n }),
      (n: number) => (n % 2 ? call("same", { n }) : call("failing")),
      (n: number) => ({ reply: [{ call: "same" }, { call: "counter", args: { n } }] }),
    ]) {
      const events = await takeTurn(play([...times(20, step), done]));
      expect(of(events, "agent_result")).toMatchObject([{ success: true }]);
      expect(JSON.stringify(of(events, "tool_result"))).not.toContain("in a row");
    }
  });
});

describe("a turn without a limit", () => {
  const long = () => play([...times(250, (n) => call("same", { n })), done]);
  const answering = (
    decision: "allow" | "always" | "deny",
    by: "client" | "rule",
    asked: unknown[],
  ): Partial<AgentContext> => ({
    ask: async ({ tool, args, options }) => {
      asked.push([tool, args["steps"], options]);
      return { decision, by };
    },
  });
  const cautious = { autoApproveWrites: false };

  it("asks every hundred steps, and continues as long as the answer is yes", async () => {
    const asked: unknown[] = [];
    const events = await takeTurn(long(), { settings: cautious, context: answering("allow", "client", asked) });
    expect(asked).toEqual([
      ["continue_over_steps", 100, ["allow", "deny"]],
      ["continue_over_steps", 200, ["allow", "deny"]],
    ]);
    expect(of(events, "agent_result")).toMatchObject([{ success: true, steps: 251 }]);
  });

  it("does not ask again in this turn after the answer `always`, which is not offered", async () => {
    const asked: unknown[] = [];
    const events = await takeTurn(long(), { settings: cautious, context: answering("always", "client", asked) });
    expect(asked).toHaveLength(1);
    expect(of(events, "agent_result")).toMatchObject([{ success: true, steps: 251 }]);
  });

  it("ends when a person says no", async () => {
    const events = await takeTurn(long(), { settings: cautious, context: answering("deny", "client", []) });
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "max_turn_requests" }]);
    expect(of(events, "agent_result")).toMatchObject([{ success: false, steps: 100 }]);
  });

  it("continues when nobody answers, and does not ask when approvals are automatic", async () => {
    const alone = await takeTurn(long(), { settings: cautious, context: answering("deny", "rule", []) });
    expect(of(alone, "agent_result")).toMatchObject([{ success: true, steps: 251 }]);
    const asked: unknown[] = [];
    const auto = await takeTurn(long(), { context: answering("deny", "client", asked) });
    expect(of(auto, "agent_result")).toMatchObject([{ success: true, steps: 251 }]);
    expect(asked).toEqual([]);
  });

  it("that has one after all ends there without a question", async () => {
    const asked: unknown[] = [];
    const context = answering("allow", "client", asked);
    const events = await takeTurn(long(), { settings: { ...cautious, maxSteps: 120 }, context });
    expect(of(events, "turn_end")).toEqual([{ stop_reason: "max_turn_requests" }]);
    expect(of(events, "agent_result")).toMatchObject([{ steps: 120, error: "the limit of 120 steps is reached" }]);
    expect(asked).toEqual([]);
  });
});
