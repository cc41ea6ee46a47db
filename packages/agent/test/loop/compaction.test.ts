import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentEvent, Message } from "@chimera/acp-schema/events";
import { describe, expect, it } from "vitest";
import { createAgent, createConversation } from "../../src/index.js";
import { framed, summarise } from "../../src/loop/summary.js";
import type { ModelRequest } from "../../src/providers/index.js";
import { writeTool } from "../../src/tools/index.js";
import { contextOf, listen, of, takeTurn, toolNamed } from "../take-turn.js";
import { bench } from "../tools/bench.js";
import { type Asked, serveModel, textIn } from "./model-server.js";

const filler = (length: number): string => "lorem ipsum dolor ".repeat(Math.ceil(length / 18)).slice(0, length);
const read = (outputs: (n: number) => string) => {
  let calls = 0;
  return toolNamed("read", async () => ({ success: true, output: outputs(calls++) }));
};
const calling = (n: number) => [{ call: "read", args: `{"n":${n}}` }];
const done = [{ text: "Done." }];

/** A conversation of turns of one call each, whose results are as given. */
const past = (...results: string[]): Message[] =>
  results.flatMap((output, turn): Message[] => [
    { role: "user", text: `question ${turn}` },
    { role: "assistant", parts: [{ type: "call", id: `c${turn}`, name: "read", args: { turn } }] },
    { role: "tool", id: `c${turn}`, name: "read", output, success: true },
    { role: "assistant", parts: [{ type: "text", text: `answer ${turn}` }] },
  ]);
const seen = (turns: number) => Array.from({ length: turns }, (_, turn) => turn);

describe("a conversation that outgrows the window", () => {
  it("is summed up by a request with the same system, tools and messages and one more instruction", async () => {
    const fact = `${filler(20_000)}FACT-deep ${filler(9_000)}`;
    const { requests, options } = await serveModel((asked) => [
      { text: textIn(asked).includes("FACT-deep") ? "Known." : "Gone." },
    ]);
    const history = past(filler(30_000), filler(30_000), fact, ...Array(22).fill(filler(29_000)));
    const settings = { ...options, tools: [read(() => "")], systemPrompt: "You are careful." };
    const events = await takeTurn(settings, { history, number: 25, seen: seen(25), prompt: "What was it?" });
    expect(of(events, "agent_result")).toMatchObject([{ output: "Known.", success: true }]);
    const [summary, answer] = requests.map(({ asked }) => asked) as [Asked, Asked];
    expect(requests.map((request) => [request.summary, request.refused])).toEqual([
      [true, false],
      [false, false],
    ]);
    expect([summary.system, summary.tools]).toEqual([answer.system, answer.tools]);
    expect(summary.tools.map((tool) => tool.name)).toEqual(["read"]);
    expect(textIn(summary)).toContain(fact);
    expect(summary.messages).toHaveLength(history.length + 1);
    // The summary is framed, and the last prompt and its work stay word for word.
    const text = textIn(answer);
    expect(text).toContain("summed up. The summary below takes its place");
    expect(text).toContain("What was it?");
    expect(text).toContain("answer 24");
    expect(text).not.toContain("question 3");
    expect(of(events, "compaction")).toEqual([{ summary: "## Facts\nFACT-deep", from_turn: 23 }]);
  });

  it("reports the right number of filled tokens afterwards", async () => {
    const { options, requests } = await serveModel(() => done);
    const history = past(...Array(25).fill(filler(29_000)));
    const events = await takeTurn({ ...options, tools: [read(() => "")] }, { history, number: 25, seen: seen(25) });
    const [meter] = of(events, "usage");
    const after = requests.at(-1)?.tokens ?? 0;
    expect(meter?.used).toBeGreaterThan(after * 0.8);
    expect(meter?.used).toBeLessThan(after * 1.3);
    expect(meter?.size).toBe(200_000);
  });

  it("leaves room for the reply, and asks for no longer reply than fits", async () => {
    const { options, requests } = await serveModel(() => done);
    await takeTurn(options, { history: past(filler(600_000)), number: 1, seen: [0] });
    expect(requests.map((request) => request.summary)).toEqual([false]);
    const [{ asked, tokens } = { asked: null, tokens: 0 }] = requests;
    expect(tokens + (asked?.max_tokens ?? 0)).toBeLessThanOrEqual(200_000);
    await takeTurn(options, { history: past(filler(690_000)), number: 1, seen: [0] });
    expect(requests.map((request) => request.summary)).toEqual([false, true, false]);
  });

  it("continues after a restart with the same messages as before", async () => {
    const { options, requests } = await serveModel((_asked, n) => (n < 30 ? calling(n) : done));
    const agent = createAgent({ ...options, tools: [read((n) => `${n}${filler(29_000)}`)] });
    const conversation = createConversation(agent, { workspace: contextOf({}).workspace });
    const run = async (prompt: string) => {
      const events: AgentEvent[] = [];
      for await (const event of conversation.prompt(prompt)) events.push(event);
      return events;
    };
    const first = await run("Read it all.");
    expect(of(first, "compaction")).toMatchObject([{ from_turn: 0, from_call: expect.any(String) }]);
    const before = requests.at(-1)?.asked.messages ?? [];
    await run("And now?");
    const after = requests.at(-1)?.asked.messages ?? [];
    expect(JSON.stringify(bare(after.slice(0, before.length)))).toBe(JSON.stringify(bare(before)));
  });
});

/** Without the marks that say what to cache. */
function bare(messages: readonly unknown[]): unknown {
  return JSON.parse(JSON.stringify(messages, (key, value) => (key === "cache_control" ? undefined : value)));
}

describe("a turn that fills the window by itself", () => {
  it("writes 45 files of 24 KB in one turn of a window of 200,000 tokens", async () => {
    const { requests, options } = await serveModel((_asked, n) => {
      if (n === 0) return [{ text: "FACT-found at once." }, { call: "Write", args: '{"path":"0","content":"first"}' }];
      const content = `${n}\n${filler(24_000)}`;
      return n <= 45 ? [{ call: "Write", args: JSON.stringify({ path: `f${n}`, content }) }] : done;
    });
    const { workspace, cwd } = await bench();
    const prompt = "Write forty-five files, FACT-asked.";
    const events = await takeTurn({ ...options, tools: [writeTool] }, { prompt, context: { workspace } });
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: "Done.", tool_calls_total: 46 }]);
    for (let n = 1; n <= 45; n++) expect(await readFile(join(cwd, `f${n}`), "utf8")).toBe(`${n}\n${filler(24_000)}`);
    expect(of(events, "compaction").length).toBeGreaterThan(0);
    expect(requests.filter((request) => request.refused)).toEqual([]);
    // The prompt is always there word for word, and no fact is lost.
    for (const { asked } of requests) expect(textIn(asked)).toContain(prompt);
    expect(textIn(requests.at(-1)?.asked as Asked)).toContain("FACT-found");
  }, 60_000);

  it.each([
    [null, 3_000],
    [400, 100],
  ])(
    "takes 300 steps in one turn where the limit is %j",
    async (maxSteps, length) => {
      const { options } = await serveModel((_asked, n) => (n < 299 ? calling(n) : done));
      const tools = [read((n) => `${n} ${filler(length)}`)];
      const events = await listen({ ...options, tools }, { settings: { maxSteps, autoApproveWrites: false } });
      expect(of(events, "agent_result")).toMatchObject([{ success: true, steps: 300, tool_calls_total: 299 }]);
      expect(of(events, "compaction").length > 0).toBe(length > 1_000);
    },
    60_000,
  );
});

describe("a request that is refused as too long", () => {
  // The server's window is smaller than its model is said to have.
  const small = 40_000;
  const GEMINI = (tokens: number) =>
    `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${small}).`;

  it.each(Array.from({ length: 12 }, (_, n) => 14_000 + n * 150))(
    "in the middle of a turn (results of %i) makes room, keeps the messages that the model has not read, and the turn ends well",
    async (length) => {
      const { options, requests } = await serveModel((_asked, n) => (n < 12 ? calling(n) : done), small, GEMINI);
      const tools = [read((n) => `FACT-${n} ${filler(length)}`)];
      const events = await takeTurn({ ...options, tools }, { prompt: "Read twelve files." });
      expect(of(events, "agent_result")).toMatchObject([{ success: true, tool_calls_total: 12 }]);
      const last = textIn(requests.at(-1)?.asked as Asked);
      for (let n = 0; n < 12; n++) expect(last).toContain(`FACT-${n}`);
      expect(last).toContain("Read twelve files.");
      // The messages that the server had accepted before were summed up whole, without a cut.
      expect(requests.filter((request) => request.summary && request.refused)).toEqual([]);
    },
  );

  it("is summed up from a transcript that marks an earlier summary as such", async () => {
    const asked: string[] = [];
    await summarise({
      system: "",
      tools: [],
      messages: [framed("FACT-0"), { role: "user", text: "Go on." }],
      room: 10_000,
      fits: false,
      focus: "",
      ask: async ({ messages }) => {
        asked.push(...messages.map((message) => (message.role === "user" ? message.text : "")));
        return "said";
      },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.split("\n")).toEqual(
      expect.arrayContaining([expect.stringMatching(/^summary: The conversation up to here/), "user: Go on."]),
    );
  });

  it("because of one huge step is summed up from a transcript that is cut to fit", async () => {
    const { options, requests } = await serveModel(
      (_asked, n) => (n === 0 ? Array(12).fill(calling(0)).flat() : done),
      small,
      GEMINI,
    );
    const tools = [read((n) => `FACT-${n} ${filler(25_000)}`)];
    const events = await takeTurn({ ...options, tools }, { prompt: "Read twelve files." });
    expect(of(events, "agent_result")).toMatchObject([{ success: true }]);
    const last = textIn(requests.at(-1)?.asked as Asked);
    for (let n = 0; n < 12; n++) expect(last).toContain(`FACT-${n}`);
  });

  it("with an unknown message makes room if the request is long", async () => {
    const refuse = () => "Nope.";
    const { options } = await serveModel((_asked, n) => (n < 16 ? calling(n) : done), 120_000, refuse);
    const tools = [read((n) => `${n} ${filler(30_000)}`)];
    const events = await takeTurn({ ...options, tools });
    expect(of(events, "agent_result")).toMatchObject([{ success: true }]);
    expect(of(events, "compaction").length).toBeGreaterThan(0);
  });

  it("because of the prompt alone ends with that error", async () => {
    const { options } = await serveModel(() => done, 1_000);
    const events = await takeTurn(options, { prompt: filler(10_000) });
    expect(of(events, "error")).toMatchObject([{ name: "context_overflow" }]);
  });
});

describe("a compaction that is asked for", () => {
  const ask = { compact: { focus: "" }, number: 3, seen: seen(3), prompt: "/compact" };

  it("sums up the history, keeps the latest work, and takes no step", async () => {
    const { options, requests } = await serveModel(() => done);
    const history = past(`FACT-a ${filler(9_000)}`, filler(9_000), "short");
    const events = await takeTurn(
      { ...options, tools: [read(() => "")] },
      { ...ask, history, compact: { focus: "the tests" } },
    );
    expect(of(events, "compaction")).toEqual([{ summary: "## Facts\nFACT-a", from_turn: 2 }]);
    expect(of(events, "agent_result")).toMatchObject([
      { steps: 0, success: true, output: expect.stringContaining("summed up") },
    ]);
    expect(of(events, "usage").at(-1)?.used).toBeLessThan(1_000);
    const [{ asked } = { asked: null }] = requests;
    expect(asked?.tools.map((tool) => tool.name)).toEqual(["read"]);
    expect(textIn(asked as Asked)).toContain("dwell on this: the tests");
    expect(textIn(asked as Asked)).not.toContain("/compact");
  });

  it("works when the model refuses every request", async () => {
    const { options } = await serveModel(
      () => done,
      10,
      () => "no pictures, please",
    );
    const events = await takeTurn(options, { ...ask, history: past("FACT-a", "b", "c") });
    expect(of(events, "agent_result")).toMatchObject([{ success: true }]);
    const [{ summary } = { summary: "" }] = of(events, "compaction");
    expect(summary).toContain("question 0");
    expect(summary).toContain("FACT-a");
  });

  it("rejects a reply in which the model continues to work", async () => {
    const { options } = await serveModel(() => done);
    const resolveModel = async () => {
      const model = await options.resolveModel("");
      const working = async function* () {
        yield [
          { type: "text" as const, text: "Let me look." },
          { type: "call" as const, id: "x", name: "read", args: "{}" },
          { type: "stop" as const, reason: "calls" as const },
        ];
      };
      return { ...model, stream: (asked: ModelRequest) => (asked.tools.length > 0 ? working() : model.stream(asked)) };
    };
    const given = { ...options, resolveModel, tools: [read(() => "")] };
    const events = await takeTurn(given, { ...ask, history: past("FACT-a", "b", "c") });
    expect(of(events, "compaction")).toMatchObject([{ summary: "## Facts\nFACT-a" }]);
  });

  it("changes nothing when the provider cannot be reached", async () => {
    const { options } = await serveModel(() => done);
    const resolveModel = async () => ({
      ...(await options.resolveModel("")),
      stream: () => {
        throw Object.assign(new Error("offline"), { code: "ENOTFOUND" });
      },
    });
    const events = await takeTurn({ ...options, resolveModel }, { ...ask, history: past("a", "b", "c") });
    expect(of(events, "compaction")).toEqual([]);
    expect(of(events, "agent_result")).toMatchObject([{ success: false }]);
  });

  it("says so when there is nothing to sum up", async () => {
    const { options, requests } = await serveModel(() => done);
    const events = await takeTurn(options, { ...ask, number: 0, seen: [] });
    expect(of(events, "agent_result")).toMatchObject([{ success: true, output: "There is nothing to sum up yet." }]);
    expect(requests).toEqual([]);
  });
});
