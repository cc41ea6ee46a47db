import type { Agent } from "@chimera/acp-schema/agent";
import type { Message } from "@chimera/acp-schema/events";
import { describe, expect, it } from "vitest";
import { createAgent, createConversation } from "../src/index.js";
import type { Model } from "../src/providers/index.js";
import { createScriptedModel, parseScript } from "../src/scripted.js";
import { checkRules, contextOf, of, takeTurn, textOf, toolNamed, turnOf } from "./take-turn.js";

const scripted = (turns: Parameters<typeof parseScript>[0]) => {
  const model = createScriptedModel(parseScript({ turns }));
  return { resolveModel: () => model };
};

describe("an agent", () => {
  it("does nothing until its events are asked for", async () => {
    let asked = 0;
    const agent = createAgent({
      resolveModel: () => {
        asked++;
        throw new Error("no model");
      },
    });
    const events = agent(turnOf({}), contextOf({}));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(asked).toBe(0);
    for await (const _event of events);
    expect(asked).toBe(1);
  });

  it("stops reading from the model while nobody takes its events", async () => {
    let produced = 0;
    const endless: Model = {
      provider: "endless",
      id: "endless",
      contextWindow: 1_000_000,
      price: null,
      async *stream() {
        for (; produced < 1_000_000; produced++) yield [{ type: "text", text: "x" }];
      },
    };
    const events = createAgent({ resolveModel: () => endless })(turnOf({}), contextOf({}))[Symbol.asyncIterator]();
    for (let taken = 0; taken < 10; taken++) await events.next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(produced).toBeLessThan(2_000);
    await events.return?.();
  });

  it("gives each of two turns at once its own events", async () => {
    const options = scripted([{ steps: [{ reply: [{ text: "one two three", chunks: 13, delayMs: 1 }] }] }]);
    const turns = await Promise.all([takeTurn(options), takeTurn(options)]);
    expect(turns.map(textOf)).toEqual(["one two three", "one two three"]);
  });

  it("survives a model that sends nonsense numbers", async () => {
    const usage = { input: Number.NaN, output: -5, cacheRead: 1.4, cacheWrite: Number.POSITIVE_INFINITY, reasoning: 0 };
    const odd: Model = {
      provider: "odd",
      id: "odd",
      contextWindow: Number.NaN,
      price: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
      async *stream() {
        yield [
          { type: "text", text: "hi" },
          { type: "usage", usage },
          { type: "stop", reason: "end" },
        ];
      },
    };
    const events = await takeTurn({ resolveModel: () => odd });
    expect(of(events, "usage")).toMatchObject([{ input: 0, output: 0, cache: 1, size: 0 }]);
  });
});

describe("a conversation", () => {
  it("remembers messages, calls and the cost", async () => {
    const options = scripted([
      {
        steps: [{ reply: [{ text: "Let me look." }, { call: "look", id: "c1" }] }, { reply: [{ text: "Found it." }] }],
      },
      { steps: [{ expect: { prompt: "and now?" }, reply: [{ text: "Still there." }] }] },
    ]);
    const look = toolNamed("look", async () => ({ success: true, output: "a needle" }));
    const conversation = createConversation(createAgent({ ...options, tools: [look] }), contextOf({}));
    for (const prompt of ["find it", "and now?"]) {
      const events = [];
      for await (const event of conversation.prompt(prompt)) events.push(event);
      checkRules(events);
    }
    expect(conversation.messages).toEqual([
      { role: "user", text: "find it" },
      {
        role: "assistant",
        parts: [
          { type: "text", text: "Let me look." },
          { type: "call", id: "c1", name: "look", args: {} },
        ],
      },
      { role: "tool", id: "c1", name: "look", output: "a needle", success: true },
      { role: "assistant", parts: [{ type: "text", text: "Found it." }] },
      { role: "user", text: "and now?" },
      { role: "assistant", parts: [{ type: "text", text: "Still there." }] },
    ]);
  });

  it("keeps the partial answer of a turn that was cancelled", async () => {
    const options = scripted([{ steps: [{ reply: [{ text: "Half an ans" }, { stall: true }] }] }]);
    const conversation = createConversation(createAgent(options), contextOf({}));
    const cancel = new AbortController();
    for await (const event of conversation.prompt("go", { signal: cancel.signal })) {
      if (event.type === "text_delta") cancel.abort();
    }
    expect(conversation.messages.at(-1)).toEqual({ role: "assistant", parts: [{ type: "text", text: "Half an ans" }] });
  });

  it("continues a given history with any agent, also one that announces no steps and sums up", async () => {
    const seen: (readonly number[])[] = [];
    const echo: Agent = async function* ({ prompt: { text }, number, seen: turns }) {
      seen.push(turns);
      if (text === "shorter") yield { type: "compaction", metadata: { summary: "Little.", from_turn: number } };
      yield { type: "text_delta", metadata: { text: `You said ${text}` } };
    };
    const said = (text: string): Message => ({ role: "assistant", parts: [{ type: "text", text }] });
    const history: Message[] = [{ role: "summary", text: "Much." }, { role: "user", text: "old" }, said("older")];
    const conversation = createConversation(echo, { ...contextOf({}), history });
    for await (const _ of conversation.prompt("new"));
    const asked: Message = { role: "user", text: "new" };
    expect(conversation.messages).toEqual([...history, asked, said("You said new")]);
    for await (const _ of conversation.prompt("shorter"));
    const rest: Message[] = [{ role: "user", text: "shorter" }, said("You said shorter")];
    expect(conversation.messages).toEqual([{ role: "summary", text: "Little." }, ...rest]);
    expect(seen).toEqual([[0], [0, 1]]);
  });
});
