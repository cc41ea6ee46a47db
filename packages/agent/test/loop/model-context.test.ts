import type { Message } from "@chimera/acp-schema/events";
import { describe, expect, it } from "vitest";
import { AgentError } from "../../src/index.js";
import type { Model, ModelEvent, ModelRequest } from "../../src/providers/index.js";
import { of, takeTurn, toolNamed } from "../take-turn.js";

/** Remembers what it was sent; `answer` decides what it says. */
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
const long = (length: number): readonly Message[] => [
  { role: "user", text: "first question" },
  { role: "assistant", parts: [{ type: "text", text: "x".repeat(length) }] },
  { role: "user", text: "second question" },
  { role: "assistant", parts: [{ type: "text", text: "second answer" }] },
];

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

  it("carries the system prompt made for the turn, and only tools that are there", async () => {
    const { requests, resolveModel } = recording(() => [text("ok")]);
    const run = async () => ({ success: true, output: "" });
    const tools = [toolNamed("here", run), toolNamed("absent", run, { available: () => false })];
    await takeTurn({ resolveModel, tools, systemPrompt: (turn, workspace) => `${turn.sessionId} in ${workspace.cwd}` });
    expect(requests[0]?.system).toBe("s in /nowhere");
    expect(requests[0]?.tools.map((tool) => tool.name)).toEqual(["here"]);
  });
});

describe("a conversation that outgrows the window", () => {
  it("is summarised before it is sent, the last turns kept, and the turn says so", async () => {
    const { requests, resolveModel } = recording(
      (_request, index) => [text(index === 0 ? "Short version." : "ok")],
      1_000,
    );
    const events = await takeTurn({ resolveModel }, { history: long(20_000), number: 2 });
    expect(of(events, "compaction")).toEqual([{ summary: expect.stringContaining("Short version."), from_turn: 2 }]);
    expect(requests[0]?.messages[0]).toMatchObject({ role: "user", text: expect.stringContaining("first question") });
    expect(JSON.stringify(requests[0]?.messages).length).toBeLessThan(8_000);
    expect(requests[1]?.messages.map((message) => message.role)).toEqual(["summary", "user"]);
    expect(of(events, "agent_result")).toMatchObject([{ output: "ok", success: true }]);
  });

  it("keeps recent turns word for word while they are small", async () => {
    const overflow = new AgentError("context_overflow", "too long");
    const { requests, resolveModel } = recording((_request, index) => {
      if (index === 0) throw overflow;
      return [text("short")];
    });
    await takeTurn({ resolveModel }, { history: long(10), number: 2 });
    expect(requests[2]?.messages.map((message) => message.role)).toEqual([
      "summary",
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
  });

  it("goes on with a shortened transcript when even the summary fails", async () => {
    const { resolveModel } = recording((_request, index) => {
      if (index < 2) throw new AgentError("context_overflow", "too long");
      return [text("ok")];
    });
    const events = await takeTurn({ resolveModel }, { history: long(10), number: 2 });
    expect(of(events, "compaction")[0]?.summary).toContain("second question");
    expect(of(events, "agent_result")).toMatchObject([{ success: true }]);
  });

  it("within one turn loses old tool output first, and ends with an error when nothing is left to lose", async () => {
    const big = toolNamed("big", async () => ({ success: true, output: "y".repeat(5_000) }));
    const call: ModelEvent = { type: "call", id: "", name: "big", args: "{}" };
    const { requests, resolveModel } = recording((_request, index) => {
      if (index < 6) return [call];
      throw new AgentError("context_overflow", "too long");
    });
    const events = await takeTurn({ resolveModel, tools: [big] });
    expect(of(events, "notice")).toMatchObject([{ text: expect.stringContaining("output of 2 earlier calls") }]);
    const outputs = requests
      .at(-1)
      ?.messages.flatMap((message) => (message.role === "tool" ? [message.output.length] : []));
    expect(outputs?.filter((length) => length === 5_000)).toHaveLength(4);
    expect(of(events, "error")).toMatchObject([{ name: "context_overflow" }]);
  });
});
