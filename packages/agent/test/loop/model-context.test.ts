import type { Message } from "@chimera/acp-schema/events";
import { describe, expect, it } from "vitest";
import type { Model, ModelEvent, ModelRequest } from "../../src/providers/index.js";
import { contextOf, takeTurn, toolNamed } from "../take-turn.js";

/** Remembers the requests; `answer` gives its replies. */
function recording(answer: (request: ModelRequest, index: number) => ModelEvent[], contextWindow = 100_000) {
  const requests: ModelRequest[] = [];
  const model: Model = {
    provider: "recording",
    id: "recording",
    contextWindow,
    price: null,
    async *stream(request) {
      requests.push({ ...request, messages: [...request.messages] });
      yield [...answer(request, requests.length - 1), { type: "stop", reason: "end" }];
    },
  };
  return { requests, resolveModel: () => model };
}

const text = (value: string): ModelEvent => ({ type: "text", text: value });
describe("what the model is sent", () => {
  it("pairs every call with one result, whatever a crash left in the history", async () => {
    const history: Message[] = [
      { role: "user", text: "do it" },
      {
        role: "assistant",
        parts: [
          { type: "call", id: "a", name: "look", args: {} },
          { type: "call", id: "b", name: "look", args: {} },
        ],
      },
      { role: "tool", id: "a", name: "look", output: "found", success: true },
      { role: "tool", id: "ghost", name: "look", output: "boo", success: true },
      { role: "assistant", parts: [] },
      { role: "assistant", parts: [{ type: "call", id: "c", name: "continue_over_budget", args: {} }] },
      { role: "tool", id: "c", name: "continue_over_budget", output: "Going on.", success: true },
      { role: "assistant", parts: [{ type: "call", id: "d", name: "continue_over_steps", args: {} }] },
      { role: "tool", id: "d", name: "continue_over_steps", output: "Going on.", success: true },
    ];
    const { requests, resolveModel } = recording(() => [text("ok")]);
    await takeTurn({ resolveModel }, { history });
    expect(requests[0]?.messages).toEqual([
      { role: "user", text: "do it" },
      history[1],
      { role: "tool", id: "a", name: "look", output: "found", success: true },
      { role: "tool", id: "b", name: "look", output: "(interrupted: no result)", success: false },
      { role: "user", text: "go" },
    ]);
  });

  it("includes the turn's system prompt, and the tools whose needs the workspace meets", async () => {
    const { requests, resolveModel } = recording(() => [text("ok")]);
    const run = async () => ({ success: true, output: "" });
    const tools = [toolNamed("here", run), toolNamed("lent", run, { needs: "terminal" })];
    await takeTurn({ resolveModel, tools, systemPrompt: "Be short." });
    const terminal = { run: () => Promise.reject(new Error("not called")) };
    await takeTurn({ resolveModel, tools }, { context: { workspace: { ...contextOf({}).workspace, terminal } } });
    expect(requests[0]?.system).toBe("Be short.");
    expect(requests.map((request) => request.tools.map((tool) => tool.name))).toEqual([["here"], ["here", "lent"]]);
  });
});
