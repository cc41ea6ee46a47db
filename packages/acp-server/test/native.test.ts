import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentEvent, SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createFileStore, createMemoryStore } from "@chimera/event-store";
import type { Agent } from "@chimera/session";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Client, connect, type Frame, makeEngine, nativeClient, saying, scratch, yielding } from "./harness.js";

const call: AgentEvent = {
  type: "tool_call",
  metadata: { call_id: "c1", tool: "Bash", args: { command: "ls" }, kind: "execute", title: "ls", locations: [] },
};
const usage = { input: 3, output: 2, cache: 1, reasoning: 0, total_usd: 0.5, priced: true, used: 5, size: 100 };

/** Rows of an event, otter's update, and ferret's kind and payload; null if the dialect does not show the event. */
const rows: [AgentEvent, object | null, object | null][] = [
  [
    { type: "text_delta", metadata: { text: 'a "b"\n\u2028' } },
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: 'a "b"\n\u2028' } },
    { kind: "agent_message_chunk", text: 'a "b"\n\u2028' },
  ],
  [{ type: "thought_delta", metadata: { text: "hm" } }, null, null],
  [
    call,
    { sessionUpdate: "tool_call", callId: "c1", tool: "Bash", input: { command: "ls" } },
    { kind: "tool_call_start", id: "c1", tool: "Bash", args: { command: "ls" } },
  ],
  [
    { type: "tool_progress", metadata: { call_id: "c1", stream: "stderr", chunk: "x" } },
    null,
    { kind: "tool_call_progress", id: "c1", stderr: "x" },
  ],
  [
    { type: "tool_result", metadata: { call_id: "c1", success: false, output: "o", error: "e", duration_ms: 4 } },
    { sessionUpdate: "tool_result", callId: "c1", success: false, output: "o", error: "e" },
    { kind: "tool_call_end", id: "c1", result: "o", success: false, duration_ms: 4 },
  ],
  [
    { type: "usage", metadata: usage },
    { sessionUpdate: "usage_update", input: 3, output: 2, cache: 1, reasoning: 0, total_usd: 0.5 },
    { kind: "cost_update", input: 3, output: 2, cache: 1, reasoning: 0, total_usd: 0.5 },
  ],
  [
    { type: "file_edit", metadata: { path: "/a", diff: "@@", change: "update" } },
    null,
    { kind: "file_edit", path: "/a", diff: "@@", change: "update" },
  ],
  [{ type: "file_open", metadata: { path: "/a", line: 3 } }, null, { kind: "file_open", path: "/a", line: 3 }],
  [{ type: "notice", metadata: { level: "info", text: "n" } }, null, { kind: "notice", level: "info", text: "n" }],
  [
    { type: "sandbox_violation", metadata: { tool: "Bash", mode: "read-only", reason: "r" } },
    null,
    { kind: "sandbox_violation", tool: "Bash", mode: "read-only", reason: "r" },
  ],
  [{ type: "plan", metadata: { entries: [] } }, null, null],
];

const paramsOf = (client: Client) =>
  client.frames.filter((frame) => frame.method === "session/update").map((frame) => frame.params!);

/** An agent that sends one part of its text and then waits until it is cancelled. */
const partly: Agent = async function* (_turn, { signal }) {
  yield { type: "text_delta", metadata: { text: "part" } };
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
};

describe("updates", () => {
  test.each(rows)("%j as otter shows it", async (event, update) => {
    const client = await nativeClient(makeEngine(yielding(event)));
    await client.message("go");
    const shown = paramsOf(client).filter(
      ({ update: { sessionUpdate, success } }) =>
        !(sessionUpdate === "tool_result" && success === false && event.type === "tool_call"),
    );
    expect(shown).toEqual(update ? [{ sessionId: client.sessionId, eventId: 1, update }] : []);
  });

  test.each(rows)("%j as ferret shows it, with otter's update beside it", async (event, update, flat) => {
    const client = await nativeClient(makeEngine(yielding(event)), { dialect: "ferret" });
    await client.message("go");
    const [first] = paramsOf(client);
    if (!flat) expect(first).toMatchObject({ kind: "turn_end" });
    else
      expect(first).toEqual({ sessionId: client.sessionId, eventId: 1, ...flat, update: update ?? expect.anything() });
    expect(paramsOf(client).at(-1)).toMatchObject({ kind: "turn_end", id: "msg-0", stop_reason: "end_turn" });
  });

  test("event ids count this dialect's updates from 1 without a gap, over turns", async () => {
    const client = await nativeClient(makeEngine(yielding(...rows.map(([event]) => event))));
    await client.message("one");
    await client.message("two");
    const ids = paramsOf(client).map(({ eventId }) => eventId);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(ids).toHaveLength(8);
  });

  test("session/turn gets records under camelCase names instead", async () => {
    const client = await nativeClient(makeEngine(yielding(...rows.map(([event]) => event))));
    const reply = await client.call("session/turn", { sessionId: client.sessionId, prompt: "go" });
    expect(reply.result).toMatchObject({ sessionId: client.sessionId, stopReason: "end_turn" });
    const notified = client.frames.filter((frame) => frame.method !== undefined);
    expect(notified.map((frame) => frame.method)).toEqual([
      "stepStart",
      "textDelta",
      "toolCall",
      "toolResult",
      "stepEnd",
      "turnEnd",
    ]);
    expect(notified[1]?.params).toEqual({
      sessionId: client.sessionId,
      seq: expect.any(Number),
      id: expect.stringMatching(/^evt-[0-9a-f]{8}$/),
      type: "text_delta",
      turn: 0,
      metadata: { text: 'a "b"\n\u2028' },
      ts: expect.stringMatching(/Z$/),
    });
  });
});

const counting = (count: number): Agent =>
  async function* () {
    yield { type: "step_start", metadata: { step: 0 } };
    for (let i = 1; i <= count; i++) yield { type: "text_delta", metadata: { text: String(i) } };
  };

describe("session/resume", () => {
  async function after(count: number, historyLimit?: number) {
    const core = makeEngine(counting(count), { coalesce: false });
    const { sessionId, message } = await nativeClient(core);
    await message("go");
    const client = await nativeClient(core, historyLimit === undefined ? {} : { historyLimit });
    client.frames.length = 0;
    const resume = async (cursor: unknown) => {
      client.frames.length = 0;
      const params = cursor === undefined ? { sessionId } : { sessionId, sinceEventId: cursor };
      const { result } = await client.call("session/resume", params);
      const ids = paramsOf(client).map(({ eventId }) => eventId);
      expect(client.frames.at(-1)).toHaveProperty("result");
      return { ids, ...(result as unknown as { replayed: number; lastEventId: number; truncated: boolean }) };
    };
    return { resume, sessionId };
  }

  test.each([
    [undefined, [1, 2, 3, 4, 5]],
    [0, [1, 2, 3, 4, 5]],
    [2, [3, 4, 5]],
    ["2", [1, 2, 3, 4, 5]],
    [5, []],
    [99, []],
    [-7, [1, 2, 3, 4, 5]],
    [1.5, [1, 2, 3, 4, 5]],
    ["abc", [1, 2, 3, 4, 5]],
    [null, [1, 2, 3, 4, 5]],
    [{}, [1, 2, 3, 4, 5]],
    [[3], [1, 2, 3, 4, 5]],
    [true, [1, 2, 3, 4, 5]],
  ])("after %j replays %j", async (cursor, ids) => {
    const { resume } = await after(5);
    expect(await resume(cursor)).toMatchObject({ ids, replayed: ids.length, lastEventId: 5, truncated: false });
  });

  test.each([
    [0, 4, true],
    [1, 4, true],
    [2, 4, true],
    [3, 4, true],
    [6, 4, false],
    [8, 2, false],
    [10, 0, false],
    [11, 0, false],
  ])(
    "with a history of 4, after update %i of 10, replays %i frames, truncated %s",
    async (cursor, replayed, truncated) => {
      const { resume } = await after(10, 4);
      expect(await resume(cursor)).toMatchObject({ replayed, truncated, lastEventId: 10 });
    },
  );

  test("keeps 1024 updates of 1500", async () => {
    const { resume } = await after(1500);
    const all = await resume(0);
    expect(all).toMatchObject({ replayed: 1024, lastEventId: 1500, truncated: true });
    expect([all.ids[0], all.ids.at(-1)]).toEqual([477, 1500]);
    expect(await resume(476)).toMatchObject({ replayed: 1024, truncated: false });
    expect(await resume(475)).toMatchObject({ replayed: 1024, truncated: true });
  });

  /** Starts engines on one directory, one after the other. */
  const onDisk = () => {
    const root = mkdtempSync(join(tmpdir(), "acp-native-"));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    const start = () => {
      const store = createFileStore<SessionEvent, Summary>({ root });
      const core = makeEngine(yielding(...rows.map(([event]) => event)), { store });
      return { core, stop: () => core.sessions.shutdown().then(() => store.close()) };
    };
    return { root, start };
  };

  test("ids are the same after a restart, and new updates continue from there", async () => {
    const { start } = onDisk();
    const first = start();
    const { sessionId, message, frames } = await nativeClient(first.core);
    await message("go");
    const live = frames.filter((frame) => frame.method === "session/update");
    await first.stop();
    const second = start();
    const client = connect(second.core, { forced: "otter" });
    expect((await client.call("session/load", { sessionId })).result).toMatchObject({ lastEventId: live.length });
    await client.call("session/resume", { sessionId, sinceEventId: 0 });
    expect(client.frames.filter((frame) => frame.method === "session/update")).toEqual(live);
    await client.call("session/message", { sessionId, message: "more" });
    expect(paramsOf(client).map(({ eventId }) => eventId)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    await second.stop();
  });

  test("ids of a session that another process holds also count the records it writes while the log is read", async () => {
    const store = createMemoryStore<SessionEvent, Summary>();
    const there = makeEngine(saying("hello"), { store });
    const session = await there.sessions.create({ cwd: "/" });
    const say = async () => {
      session.prompt({ text: "go" });
      await session.idle();
    };
    await say();
    let isRead = false;
    const here = makeEngine(saying(), {
      store: {
        ...store,
        async *read(...asked) {
          yield* store.read(...asked);
          if (!isRead) await say();
          isRead = true;
        },
      },
    });
    const client = connect(here, { forced: "otter" });
    const { result } = await client.call("session/load", { sessionId: session.id });
    const { lastEventId } = result as unknown as { lastEventId: number };
    await say();
    await client.until(({ params }) => params?.eventId === lastEventId + 2);
    expect(paramsOf(client).map(({ eventId }) => eventId)).toEqual([lastEventId + 1, lastEventId + 2]);
  });

  test("ids after an unreadable record stay the same, also in a fork", async () => {
    const { root, start } = onDisk();
    const first = start();
    const { sessionId, message, frames } = await nativeClient(first.core);
    await message("go");
    const live = frames.filter((frame) => frame.method === "session/update");
    expect(live[1]?.params?.update.sessionUpdate).toBe("tool_call");
    await first.stop();
    const directory = join(root, "eventlog", sessionId);
    const segment = join(directory, readdirSync(directory).find((name) => name.endsWith(".ndjson"))!);
    const text = readFileSync(segment, "utf8");
    writeFileSync(segment, text.replace('"call_id":"c1","tool"', '"call_id":"c1","tolo"'));

    const second = start();
    const client = connect(second.core, { forced: "otter" });
    expect((await client.call("session/load", { sessionId })).result).toMatchObject({ lastEventId: live.length });
    await client.call("session/resume", { sessionId, sinceEventId: 0 });
    expect(client.frames.filter((frame) => frame.method === "session/update")).toEqual(
      live.filter((_, index) => index !== 1),
    );
    const before = client.frames.length;
    await client.call("session/resume", { sessionId, sinceEventId: 2 });
    // A client that already had the lost record gets no notice of it.
    expect(client.frames.slice(before, -1).map((frame) => frame.params?.eventId)).toEqual([3, 4]);
    const fork = (await client.call("session/fork", { sessionId })).result as unknown as { sessionId: string };
    await second.stop();

    const third = start();
    const again = connect(third.core, { forced: "otter" });
    const loaded = await again.call("session/load", { sessionId: fork.sessionId });
    expect(loaded.result).toMatchObject({ lastEventId: live.length });
    await again.call("session/resume", { sessionId: fork.sessionId, sinceEventId: 0 });
    expect(paramsOf(again).map(({ eventId }) => eventId)).toEqual([1, 3, 4]);
    await third.stop();
  });

  test("in the middle of a turn neither misses nor repeats an update", async () => {
    const core = makeEngine(
      async function* (_turn, { signal }) {
        for (let i = 0; i < 200 && !signal.aborted; i++) {
          yield { type: "text_delta", metadata: { text: `${i} ` } };
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      },
      { coalesce: false },
    );
    const first = await nativeClient(core);
    const done = first.message("go");
    await first.until((frame) => frame.params?.eventId === 20);
    const second = connect(core, { forced: "otter" });
    await second.call("session/resume", { sessionId: first.sessionId, sinceEventId: 5 });
    await done;
    await second.until((frame) => frame.params?.eventId === 200);
    expect(paramsOf(second).map(({ eventId }) => eventId)).toEqual(Array.from({ length: 195 }, (_, i) => i + 6));
  });
});

describe("a conversation", () => {
  const text = (frame: Frame) => (frame.params?.update["content"] as { text: string } | undefined)?.text;

  test("of two messages at once the second waits, and each has its own reply", async () => {
    const core = makeEngine((turn, context) => saying(turn.prompt.text.toUpperCase())(turn, context));
    const client = await nativeClient(core);
    const replies = await Promise.all([client.message("one"), client.message("two")]);
    expect(replies.map(({ result }) => result)).toMatchObject([{ output: "ONE" }, { output: "TWO" }]);
    expect(client.frames.map((frame) => text(frame) ?? frame.id).slice(-4)).toEqual(["ONE", 3, "TWO", 4]);
  });

  test("a cancel right after a message ends its turn", async () => {
    const core = makeEngine(partly);
    const client = await nativeClient(core);
    const { sessionId } = client;
    const reply = client.message("go");
    expect((await client.call("session/cancel", { sessionId })).result).toEqual({ sessionId, cancelled: true });
    expect((await reply).result).toMatchObject({ stopReason: "cancelled" });
  });

  test("a cancelled message is answered with its partial text, and the cancel is answered too", async () => {
    const core = makeEngine(partly);
    const client = await nativeClient(core);
    const { sessionId } = client;
    const reply = client.message("go");
    await client.until((frame) => text(frame) === "part");
    expect((await client.call("session/cancel", { sessionId })).result).toEqual({ sessionId, cancelled: true });
    expect((await reply).result).toEqual({ sessionId, stopReason: "cancelled", output: "part" });
    expect(paramsOf(client).at(-1)?.update).toEqual({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: "part" },
      cancelled: true,
    });
    expect((await client.call("session/cancel", { sessionId })).result).toEqual({ sessionId, cancelled: false });
  });

  test.each([
    ["otter", "permission/respond", (id: string) => ({ requestId: id, reply: "allow" }), "allow"],
    ["otter", "permission/respond", (id: string) => ({ requestId: id, reply: "always" }), "always"],
    [
      "otter",
      "tool/approve",
      (id: string, sessionId: string) => ({ sessionId, permissionId: id, decision: "approve" }),
      "allow",
    ],
    [
      "ferret",
      "permission/respond",
      (id: string, sessionId: string) => ({ sessionId, id, decision: "never" }),
      "never",
    ],
  ] as const)("in %s, a permission request waits for %s", async (dialect, method, answer, decision) => {
    const core = makeEngine(async function* (_turn, { ask }) {
      yield call;
      const answered = await ask({ call_id: "c1", tool: "Bash", args: { command: "ls" }, risk: "high" });
      yield { type: "text_delta", metadata: { text: answered.decision } };
    });
    const client = await nativeClient(core, { dialect });
    const reply = client.message("go");
    const asked = await client.until((frame) => frame.params?.update?.sessionUpdate === "permission_request");
    const update = asked.params!.update;
    expect(update).toMatchObject({ tool: "Bash", input: { command: "ls" }, options: ["allow", "always", "deny"] });
    const id = update["requestId"] as string;
    const responded = await client.call(method, answer(id, client.sessionId));
    expect(responded.error).toBeUndefined();
    expect((await reply).result).toMatchObject({ output: decision });
    expect((await client.call(method, answer(id, client.sessionId))).error?.code).toBe(-32602);
  });

  test("a failing agent is -32000 with name, message and stack, and the next message works", async () => {
    let failed = false;
    const core = makeEngine(async function* (turn, context) {
      if (!failed) {
        failed = true;
        throw new RangeError("out of luck\nsecond line");
      }
      yield* saying("fine")(turn, context);
    });
    const client = await nativeClient(core);
    expect((await client.message("go")).error).toEqual({
      code: -32000,
      message: "out of luck",
      data: { name: "RangeError", message: "out of luck\nsecond line", stack: expect.any(String) },
    });
    expect((await client.message("again")).result).toMatchObject({ output: "fine" });
  });

  test.each([
    ["over HTTP", { transport: { resume: true } }],
    ["over the bridge", { origin: "console", remote: { id: "self", facts: () => ({ mode: "auto", approval: "" }) } }],
  ])("its stack stays here when the peer is elsewhere, %s", async (_, elsewhere) => {
    const core = makeEngine(async function* (turn, context) {
      if (turn.number === 0) throw new RangeError("out of luck");
      yield* saying("fine")(turn, context);
    });
    const { id } = await core.sessions.create({ cwd: scratch() });
    const remote = "remote" in elsewhere && { remote: { ...elsewhere.remote, id } };
    const client = connect(core, { forced: "otter", ...elsewhere, ...remote });
    await client.call("initialize", {});
    const { error } = await client.call("session/message", { sessionId: id, message: "go" });
    expect(error).toEqual({
      code: -32000,
      message: "out of luck",
      data: { name: "RangeError", message: "out of luck" },
    });
    const refused = await client.call("session/setModel", { sessionId: id, model: " " });
    expect(refused.error).toMatchObject({ code: -32602, data: { message: expect.any(String) } });
    expect(JSON.stringify(refused.error)).not.toMatch(/stack|\.[jt]s\b/);
  });

  test.each([
    ["session/load", { sessionId: "otter-none" }, -32602],
    ["session/message", { sessionId: "otter-none", message: "x" }, -32602],
    ["session/message", { message: "x" }, -32602],
    ["session/message", {}, -32602],
    ["session/setMode", { sessionId: "self", mode: "pirate" }, -32602],
    ["session/new", { mode: "pirate" }, -32602],
    ["session/new", { cwd: "/no/such/directory" }, -32602],
    ["permission/respond", { requestId: "perm-none", reply: "allow" }, -32602],
    ["session/fork", { sessionId: "self" }, -32602],
    ["session/vanish", {}, -32601],
    ["__proto__", {}, -32601],
  ])("%s %j is %i", async (method, params, code) => {
    const client = await nativeClient(makeEngine(saying("hi")));
    const own =
      "sessionId" in params && params.sessionId === "self" ? { ...params, sessionId: client.sessionId } : params;
    expect((await client.call(method, own)).error?.code).toBe(code);
  });

  test("load, list, get, setMode, setModel and fork answer as described", async () => {
    const client = await nativeClient(makeEngine(saying("Hello there")));
    const { sessionId } = client;
    await client.message("hi");
    expect((await client.call("session/setMode", { sessionId, mode: "plan" })).result).toEqual({
      sessionId,
      mode: "plan",
    });
    expect((await client.call("session/setModel", { sessionId, model: "m2" })).result).toEqual({
      sessionId,
      model: "m2",
    });
    expect((await client.call("session/load", { sessionId })).result).toEqual({
      sessionId,
      cwd: "/",
      agent: "plan",
      model: "m2",
      state: "idle",
      lastEventId: 1,
    });
    expect((await client.call("session/list", {})).result).toMatchObject({
      sessions: [{ sessionId, cwd: "/", title: "Hello there", model: "m2", state: "idle" }],
    });
    expect((await client.call("session/get", { sessionId })).result).toMatchObject({
      sessionId,
      session_id: sessionId,
      state: "idle",
      step_count: 1,
      summary: { prompt: "hi" },
      events: expect.arrayContaining([expect.objectContaining({ seq: 1, type: "user_message" })]),
    });
    expect((await client.call("session/get", { sessionId })).result).toMatchObject({ truncated: false });
    const fork = await client.call("session/fork", { sessionId, turn: 0 });
    expect(fork.result).toEqual({ sessionId: expect.not.stringMatching(sessionId), parentId: sessionId });
  });
});

test("session/get shows neither a provider's seal nor what an engine remembers", async () => {
  const core = makeEngine(async function* (_turn, { session }) {
    yield { type: "step_start", metadata: { step: 0 } };
    yield { type: "thought_delta", metadata: { text: "hm" } };
    yield { type: "part_end", metadata: { kind: "reasoning", seal: { provider: "p", model: "m", data: "opaque" } } };
    await session.remember({ secret: "remembered" });
    yield { type: "step_end", metadata: { step: 0 } };
  });
  const client = await nativeClient(core);
  await client.message("go");
  const { result } = await client.call("session/get", { sessionId: client.sessionId });
  const { events } = result as unknown as { events: { type: string }[] };
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(["part_end", "agent_session"]));
  expect(JSON.stringify(events)).not.toMatch(/opaque|remembered/);
});

test.each(["x", "語"])(
  "session/get of a log of %s too long for a frame has its newest events, and says that it is truncated",
  async (letter) => {
    const text = letter.repeat(60_000 / Buffer.byteLength(letter));
    const core = makeEngine(
      async function* () {
        for (let i = 0; i < 300; i++) {
          yield { type: "text_delta", metadata: { text } };
          if (i % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
      },
      { coalesce: false, store: createMemoryStore<SessionEvent, Summary>({ maxSessionBytes: 64 * 1024 * 1024 }) },
    );
    const client = await nativeClient(core);
    await client.message("go");
    const { result } = await client.call("session/get", { sessionId: client.sessionId });
    const { events, truncated, event_count } = result as unknown as {
      events: { seq: number }[];
      truncated: boolean;
      event_count: number;
    };
    expect(truncated).toBe(true);
    expect(events.at(-1)?.seq).toBe(event_count);
    expect(events).toHaveLength(event_count - events[0]!.seq + 1);
    const size = Buffer.byteLength(JSON.stringify(result));
    expect(size).toBeGreaterThan(15 * 1024 * 1024);
    expect(size).toBeLessThan(17 * 1024 * 1024);
  },
);

test("session/list shows a session however many were opened later and never prompted", async () => {
  const core = makeEngine(saying("ok"));
  const client = await nativeClient(core);
  await client.message("hi");
  for (let i = 0; i < 120; i++) await core.sessions.create({ cwd: "/" });
  const { result } = await client.call("session/list", {});
  expect(result).toMatchObject({ sessions: [{ sessionId: client.sessionId }] });
});
