import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import { withResolvers } from "@chimera/acp-schema/promises";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore } from "@chimera/event-store";
import { describe, expect, it } from "vitest";
import type { Agent, Turn } from "../src/index.js";
import { defaults, makeSessions, recordsOf, runPrompt, speaking, typesOf, until } from "./fixture.js";

describe("a turn", () => {
  it("is accepted, started, streamed and ended by exactly one last record", async () => {
    const sessions = makeSessions(speaking("Hello", ", ", "world"));
    const { id } = await sessions.create({ cwd: "/" });
    const records = await runPrompt(sessions, id, "hi");
    expect(typesOf(records)).toEqual([
      "user_message",
      "turn_start",
      "step_start",
      // The first words are not held up by those that come with them.
      "text_delta",
      "text_delta",
      "step_end",
      "title_changed",
      "turn_end",
      "agent_result",
    ]);
    expect(records.at(-1)?.metadata).toMatchObject({ output: "Hello, world", steps: 1, success: true });
    expect(sessions.find(id)?.title).toBe("Hello, world");
  });

  it("shows the first words of each step before it handles the rest of a burst", async () => {
    let said = 0;
    const burst = async function* (type: "text_delta" | "thought_delta"): AsyncGenerator<AgentEvent> {
      yield { type: "step_start", metadata: { step: 0 } };
      for (said = 1; said <= 1000; said++) yield { type, metadata: { text: `${said} ` } };
      yield { type: "step_end", metadata: { step: 0 } };
    };
    const sessions = makeSessions(async function* () {
      yield* burst("thought_delta");
      yield* burst("text_delta");
    });
    const { id } = await sessions.create({ cwd: "/" });
    const seen = new Map<string, number>();
    sessions.logs.follow(id, { from: 0 }, (batch) => {
      for (const { type } of batch) if (!seen.has(type)) seen.set(type, said);
    });
    await runPrompt(sessions, id, "hi");
    expect([seen.get("thought_delta"), seen.get("text_delta")]).toEqual([1, 1]);
  });

  it("keeps each delta when coalescing is off", async () => {
    const sessions = makeSessions(speaking("a", "b", "c"), { coalesce: false });
    const { id } = await sessions.create({ cwd: "/" });
    const records = await runPrompt(sessions, id, "hi");
    expect(records.filter((record) => record.type === "text_delta").map((record) => record.metadata)).toEqual([
      { text: "a" },
      { text: "b" },
      { text: "c" },
    ]);
  });

  it("ends with an error and a result when the agent throws, and the next prompt works", async () => {
    let calls = 0;
    const sessions = makeSessions(async function* (turn, context) {
      if (calls++ === 0) throw new TypeError("no model");
      yield* speaking("fine")(turn, context);
    });
    const { id } = await sessions.create({ cwd: "/" });
    const failed = await runPrompt(sessions, id, "one");
    expect(typesOf(failed).slice(-3)).toEqual(["error", "turn_end", "agent_result"]);
    expect(failed.at(-1)?.metadata).toMatchObject({ success: false, error: "no model" });
    const next = await runPrompt(sessions, id, "two");
    expect(next.at(-1)?.metadata).toMatchObject({ success: true, output: "fine" });
  });

  it("repeats only the end of a very long answer in the turn's last record", async () => {
    const mib = 1024 * 1024;
    const sessions = makeSessions(speaking("a".repeat(mib), "b".repeat(mib)));
    const { id } = await sessions.create({ cwd: "/" });
    const last = (await runPrompt(sessions, id, "go on")).at(-1);
    expect(last).toMatchObject({ type: "agent_result", metadata: { success: true } });
    expect(last?.type === "agent_result" && last.metadata.output).toBe("b".repeat(mib));
  });

  it("cuts titles and outputs between characters", async () => {
    const faces = "😀".repeat(600_000);
    const sessions = makeSessions(speaking(`x${faces}y`));
    const { id } = await sessions.create({ cwd: "/" });
    const records = await runPrompt(sessions, id, "go on");
    const last = records.at(-1);
    expect(sessions.find(id)?.title).toBe(`x${"😀".repeat(29)}…`);
    expect(last?.type === "agent_result" && last.metadata.output).toBe(`${"😀".repeat(512 * 1024 - 1)}y`);
  });

  it("closes calls the agent left open, so that every call has one result", async () => {
    const sessions = makeSessions(async function* () {
      const metadata = { call_id: "c1", tool: "Read", args: {}, kind: "read", title: "Read", locations: [] } as const;
      yield { type: "tool_call", metadata: { ...metadata, locations: [] } } as AgentEvent;
    });
    const { id } = await sessions.create({ cwd: "/" });
    const records = await runPrompt(sessions, id, "go");
    const results = records.filter((record) => record.type === "tool_result");
    expect(results).toHaveLength(1);
    expect(results[0]?.metadata).toMatchObject({ call_id: "c1", success: false });
  });

  it("queues prompts first in, first out, each with its own turn", async () => {
    const order: string[] = [];
    const sessions = makeSessions(async function* (turn) {
      order.push(turn.prompt.text);
      await new Promise((resolve) => setTimeout(resolve, 5));
      yield { type: "text_delta", metadata: { text: turn.prompt.text.toUpperCase() } } as AgentEvent;
    });
    const session = await sessions.create({ cwd: "/" });
    const accepted = ["a", "b", "c"].map((text) => session.prompt({ text }));
    expect(accepted.map(({ turn, status }) => [turn, status])).toEqual([
      [0, "running"],
      [1, "queued"],
      [2, "queued"],
    ]);
    await session.idle();
    expect(order).toEqual(["a", "b", "c"]);
    expect(session.conversation.turns.map((turn) => turn.result?.output)).toEqual(["A", "B", "C"]);
  });

  it("refuses the prompt that would overfill the queue", async () => {
    const sessions = makeSessions(hanging);
    const session = await sessions.create({ cwd: "/" });
    for (let i = 0; i <= 64; i++) session.prompt({ text: "x" });
    expect(() => session.prompt({ text: "one too many" })).toThrow(/prompts waiting/);
    await sessions.shutdown();
  });
});

describe("cancel", () => {
  it("ends the running turn with the partial text and leaves queued prompts", async () => {
    let started = false;
    const sessions = makeSessions(async function* (turn, { signal }) {
      yield { type: "text_delta", metadata: { text: `part of ${turn.prompt.text}` } } as AgentEvent;
      if (turn.number > 0) return;
      started = true;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "one" });
    session.prompt({ text: "two" });
    await until(() => started);
    expect(await Promise.all([session.cancel(), session.cancel()])).toEqual([true, false]);
    await session.idle();
    const records = await recordsOf(sessions, session.id);
    expect(records.find((record) => record.type === "cancelled")?.metadata).toEqual({
      output: "part of one",
      steps: 0,
      cost: 0,
    });
    expect(session.conversation.turns[1]?.result?.output).toBe("part of two");
  });

  it("of a waiting prompt leaves the running turn whole, for the model and for a fork", async () => {
    const { promise: goOn, resolve: letGoOn } = withResolvers();
    const histories: Turn["history"][] = [];
    const sessions = makeSessions(async function* (turn, context) {
      histories.push(turn.history);
      if (turn.number > 0) return yield* speaking("done")(turn, context);
      yield { type: "step_start", metadata: { step: 0 } };
      yield { type: "text_delta", metadata: { text: "I will run make." } };
      const call = { call_id: "c1", tool: "Bash", args: {}, kind: "execute", title: "make", locations: [] } as const;
      yield { type: "tool_call", metadata: { ...call, locations: [] } };
      await goOn;
      yield { type: "tool_result", metadata: { call_id: "c1", success: true, output: "built", duration_ms: 1 } };
      yield { type: "step_end", metadata: { step: 0 } };
    });
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "build" });
    await until(() => session.conversation.openCalls.size === 1);
    const { turn } = session.prompt({ text: "never mind" });
    expect(await session.cancel(turn)).toBe(true);
    await expect(sessions.fork(session.id)).rejects.toMatchObject({ code: "nothing_to_fork" });
    await expect(sessions.fork(session.id, { turn })).rejects.toMatchObject({ code: "nothing_to_fork" });
    letGoOn();
    await session.idle();
    for (const child of [await sessions.fork(session.id), await sessions.fork(session.id, { turn })])
      expect(child.conversation.turns.map((one) => one.result?.success)).toEqual([true, false]);
    session.prompt({ text: "next" });
    await session.idle();
    expect(histories.at(-1)).toMatchObject([
      { role: "user", text: "build" },
      { role: "assistant", parts: [{ text: "I will run make." }, { type: "call", name: "Bash" }] },
      { role: "tool", output: "built" },
    ]);
  });

  it("ends a turn within two seconds if its agent ignores the cancel", async () => {
    const sessions = makeSessions(hanging);
    const session = await sessions.create({ cwd: "/" });
    session.prompt({ text: "x" });
    await until(() => session.conversation.turns[0]?.started === true);
    session.cancel();
    expect(session.state).toBe("cancelled");
    await session.idle();
    expect(typesOf(await recordsOf(sessions, session.id)).at(-1)).toBe("cancelled");
  });
});

describe("permissions", () => {
  const asking: Agent = async function* (_turn, { ask }) {
    const { decision, by } = await ask({ call_id: "c", tool: "Bash", args: { command: "ls" }, risk: "low" });
    yield { type: "text_delta", metadata: { text: `${decision} by ${by}` } };
  };

  it("are denied at once when nobody can answer", async () => {
    const sessions = makeSessions(asking);
    const { id } = await sessions.create({ cwd: "/" });
    const records = await runPrompt(sessions, id, "go");
    expect(records.at(-1)?.metadata).toMatchObject({ output: "deny by rule" });
  });

  it("take the first answer and refuse the second", async () => {
    const sessions = makeSessions(asking);
    const session = await sessions.create({ cwd: "/" });
    sessions.attach(session.id, { approves: true });
    session.prompt({ text: "go" });
    await until(() => session.openPermissions.size === 1);
    const [permission] = session.openPermissions.keys();
    await session.answer(permission!, "allow");
    await expect(session.answer(permission!, "deny")).rejects.toMatchObject({ code: "already_resolved" });
    await expect(session.answer("perm-none", "deny")).rejects.toMatchObject({ code: "permission_not_found" });
    await session.idle();
    expect(session.conversation.turns[0]?.result?.output).toBe("allow by client");
  });

  it("time out as denied", async () => {
    const sessions = makeSessions(asking, { permissionTimeout: 0.02 });
    const session = await sessions.create({ cwd: "/" });
    sessions.attach(session.id, { approves: true });
    session.prompt({ text: "go" });
    await session.idle();
    expect(session.conversation.turns[0]?.result?.output).toBe("deny by timeout");
  });

  it("are denied by a cancel", async () => {
    const sessions = makeSessions(asking);
    const session = await sessions.create({ cwd: "/" });
    sessions.attach(session.id, { approves: true });
    session.prompt({ text: "go" });
    await until(() => session.openPermissions.size === 1);
    session.cancel();
    await session.idle();
    const resolved = (await recordsOf(sessions, session.id)).find((record) => record.type === "permission_resolved");
    expect(resolved?.metadata).toMatchObject({ decision: "deny", by: "cancel" });
  });
});

const hanging: Agent = async function* () {
  yield { type: "text_delta", metadata: { text: "…" } };
  await new Promise(() => {});
};

describe("the end of a session", () => {
  it("is announced to the holders of the session, also for an eviction", async () => {
    let now = 0;
    const sessions = makeSessions(speaking("hi"), { ttl: 1, clock: () => now, monotonic: () => now });
    const session = await sessions.create({ cwd: "/" });
    now = 5000;
    sessions.evictIdle();
    await session.ended;
    expect(sessions.find(session.id)).toBeUndefined();
  });

  it("by a tear-down keeps its log; it cannot be loaded again and is no longer listed", async () => {
    const sessions = makeSessions(speaking("hi"));
    const { id } = await sessions.create({ cwd: "/" });
    const records = await runPrompt(sessions, id, "hello");
    await sessions.tearDown(id);
    const last = { type: "torn_down", turn: null, metadata: {} };
    expect(await recordsOf(sessions, id)).toEqual([...records, expect.objectContaining(last)]);
    await expect(sessions.load(id)).rejects.toMatchObject({ code: "session_not_found" });
    await expect(sessions.tearDown(id)).rejects.toMatchObject({ code: "session_not_found" });
    expect((await sessions.list()).sessions).toEqual([]);
  });

  it("by a tear-down leaves nothing of a session in memory", async () => {
    const ephemeral = createMemoryStore<SessionEvent, Summary>();
    const sessions = makeSessions(speaking("hi"), { ephemeral });
    const { id } = await sessions.create({ cwd: "/", persist: false });
    await sessions.tearDown(id);
    expect(await ephemeral.has(id)).toBe(false);
  });
});

describe("the approval preset", () => {
  it("is recorded with its old value, and a running turn sees the change", async () => {
    const seen: unknown[] = [];
    const agent: Agent = async function* ({ settings }) {
      seen.push(settings.options["approval"]);
      void session.set({ approval: "full" }, "console");
      seen.push(settings.options["approval"]);
      yield { type: "text_delta", metadata: { text: "ok" } } satisfies AgentEvent;
    };
    const sessions = makeSessions(agent, { defaults: { ...defaults, options: { approval: "auto" } } });
    const session = await sessions.create({ cwd: "/" });
    await runPrompt(sessions, session.id, "go");
    expect(seen).toEqual(["auto", "full"]);
    const records = await recordsOf(sessions, session.id);
    expect(records.find(({ type }) => type === "approval_changed")).toMatchObject({
      turn: null,
      origin: "console",
      metadata: { old: "auto", new: "full" },
    });
  });

  it("of one session is not another's", async () => {
    const sessions = makeSessions(speaking("hi"), { defaults: { ...defaults, options: { approval: "auto" } } });
    const [one, two] = [await sessions.create({ cwd: "/" }), await sessions.create({ cwd: "/" })];
    await runPrompt(sessions, one.id, "hi");
    const child = await sessions.fork(one.id);
    await one.set({ approval: "full" });
    expect([two, child].map(({ settings }) => settings.options["approval"])).toEqual(["auto", "auto"]);
  });
});

describe("files that a client lends", () => {
  const reading: Agent = async function* (_, { workspace }) {
    yield { type: "text_delta", metadata: { text: await workspace.readText("/a") } };
  };
  const said = (records: readonly { type: string; metadata: object }[], type: string) =>
    records.filter((record) => record.type === type).map(({ metadata }) => metadata);

  it("come from the disk again when the client has gone, with one notice", async () => {
    const sessions = makeSessions(reading, { disk: { readText: async () => "saved", writeText: async () => {} } });
    const session = await sessions.create({ cwd: "/" });
    const { detach } = sessions.attach(session.id, { approves: true, effects: { readText: async () => "unsaved" } });
    const before = await runPrompt(sessions, session.id, "one");
    detach();
    const after = await runPrompt(sessions, session.id, "two");
    const later = await runPrompt(sessions, session.id, "three");
    expect([before, after, later].flatMap((records) => said(records, "text_delta"))).toEqual([
      { text: "unsaved" },
      { text: "saved" },
      { text: "saved" },
    ]);
    expect([before, after, later].map((records) => said(records, "notice").length)).toEqual([0, 1, 0]);
  });
});

it("a summary's total counts every token, those read from a cache too", async () => {
  const usage = { reasoning: 0, total_usd: 0.07, priced: true, used: 1200, size: 200_000 };
  const sessions = makeSessions(async function* () {
    yield { type: "usage", metadata: { input: 800, output: 350, cache: 50, ...usage } };
  });
  const session = await sessions.create({ cwd: "/" });
  await runPrompt(sessions, session.id, "count");
  expect(session.summary()).toMatchObject({
    total_tokens: 1200,
    input_tokens: 800,
    output_tokens: 350,
    cache_tokens: 50,
  });
});
