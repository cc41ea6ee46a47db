// Tests standard ACP v1 method by method, and checks every frame in both directions against the official schema.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Summary } from "@chimera/acp-schema/summary";
import { createMemoryStore, type EventStore, StoreError } from "@chimera/event-store";
import type { Agent, Turn } from "@chimera/session";
import { describe, expect, test } from "vitest";
import { nativeError, standardError } from "../src/wire-error.js";
import {
  type Client,
  connect,
  everything,
  type Frame,
  makeEngine,
  saying,
  scratch,
  standardClient,
} from "./harness.js";

/** An agent that keeps the turns it gets. */
function listening(...texts: string[]) {
  const turns: Turn[] = [];
  const agent: Agent = (turn, context) => {
    turns.push(turn);
    return saying(...texts)(turn, context);
  };
  return { agent, turns };
}

const waiting: Agent = async function* (_turn, { signal }) {
  yield { type: "text_delta", metadata: { text: "part" } };
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
};

describe("a prompt", () => {
  test("is answered with stop reason and usage after all of its updates", async () => {
    const usage = { input: 7, output: 3, cache: 2, reasoning: 1, total_usd: 0.1, priced: true, used: 10, size: 100 };
    const client = await standardClient(
      makeEngine(async function* () {
        yield { type: "step_start", metadata: { step: 0 } };
        yield { type: "text_delta", metadata: { text: "# Hello *there*" } };
        yield { type: "usage", metadata: usage };
      }),
    );
    const { result } = await client.prompt("hi");
    expect(result).toEqual({
      stopReason: "end_turn",
      usage: { totalTokens: 12, inputTokens: 7, outputTokens: 3, thoughtTokens: 1, cachedReadTokens: 2 },
    });
    const seen = client.frames.length;
    expect(client.updates().map((update) => update.sessionUpdate)).toEqual([
      "available_commands_update",
      "agent_message_chunk",
      "usage_update",
      "session_info_update",
    ]);
    expect(client.updates("session_info_update")[0]).toMatchObject({ title: "Hello there" });
    expect(client.updates("usage_update")[0]).toEqual({
      sessionUpdate: "usage_update",
      used: 10,
      size: 100,
      cost: { amount: 0.1, currency: "USD" },
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(client.frames).toHaveLength(seen);
    expect(client.problems()).toEqual([]);
  });

  test("lists the commands once, and again when they have changed", async () => {
    const cwd = scratch();
    const core = makeEngine(saying("ok"));
    const client = await standardClient(core);
    const { result } = await client.call("session/new", { cwd, mcpServers: [] });
    const { sessionId } = result as unknown as { sessionId: string };
    const say = () => client.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
    const lists = () =>
      client.frames
        .filter(({ params }) => params?.sessionId === sessionId)
        .flatMap(({ params }) =>
          params?.update?.sessionUpdate === "available_commands_update" ? [params.update] : [],
        );
    await say();
    await say();
    expect(lists()).toHaveLength(1);
    mkdirSync(join(cwd, ".opencode", "command"), { recursive: true });
    writeFileSync(join(cwd, ".opencode", "command", "ship.md"), "---\ndescription: Ship it\n---\nShip $1");
    await say();
    const listed = lists();
    expect(listed).toHaveLength(2);
    expect(listed[1]?.["availableCommands"]).toContainEqual({ name: "ship", description: "Ship it" });
    expect(client.problems()).toEqual([]);
  });

  test("brings links, embedded files and pictures to the agent", async () => {
    const { agent, turns } = listening("ok");
    const client = await standardClient(makeEngine(agent));
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    await client.call("session/prompt", {
      sessionId: client.sessionId,
      _meta: { anything: 1 },
      prompt: [
        { type: "text", text: "look at" },
        { type: "resource_link", name: "main.ts", uri: "file:///src/main.ts" },
        { type: "resource", resource: { uri: 'file:///a"b', text: "content\nof it" } },
        { type: "resource", resource: { uri: "file:///x.bin", blob: "AAAA", mimeType: "application/x" } },
        image,
      ],
    });
    const { text, content } = turns[0]!.prompt;
    expect(text).toBe(
      'look at\n[main.ts](file:///src/main.ts)\n<resource uri="file:///a%22b">\ncontent\nof it\n</resource>\n[attached: file:///x.bin, application/x]',
    );
    expect(content).toContainEqual(expect.objectContaining(image));
  });

  test("that fails is -32603 in one line with data, and never -32000", async () => {
    const client = await standardClient(
      // biome-ignore lint/correctness/useYield: it fails before it yields anything
      makeEngine(async function* () {
        throw new TypeError("first line\nsecond line");
      }),
    );
    const { error } = await client.prompt("hi");
    expect(error).toMatchObject({ code: -32603, message: "first line", data: { name: "TypeError" } });
    expect(client.problems()).toEqual([]);
  });

  test.each(["session/cancel as a notification", "session/cancel as a request", "$/cancel_request"])(
    "is cancelled by %s",
    async (how) => {
      const client = await standardClient(makeEngine(waiting));
      const { sessionId } = client;
      const prompt = [{ type: "text", text: "hi" }];
      const { id, answer } = client.start("session/prompt", { sessionId, prompt });
      await client.until((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
      if (how === "$/cancel_request") client.notify("$/cancel_request", { requestId: id });
      else if (how.endsWith("request")) expect((await client.call("session/cancel", { sessionId })).result).toEqual({});
      else client.notify("session/cancel", { sessionId });
      expect((await answer).result).toMatchObject({ stopReason: "cancelled" });
    },
  );

  test.each(["session/cancel", "session/close", "session/delete"])(
    "is cancelled by a %s sent right after it",
    async (method) => {
      const client = await standardClient(makeEngine(waiting));
      const { sessionId } = client;
      const prompt = client.prompt("hi");
      client.notify(method, { sessionId });
      expect((await prompt).result).toMatchObject({ stopReason: "cancelled" });
    },
  );

  test("that is cancelled before its session is open never runs", async () => {
    const client = await standardClient(makeEngine(waiting));
    const { sessionId } = client;
    const { id, answer } = client.start("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
    client.notify("$/cancel_request", { requestId: id });
    expect((await answer).error?.code).toBe(-32800);
    expect((await client.call("session/list", {})).result).toEqual({ sessions: [] });
  });

  test("keeps its place before the one sent after it, however long its session takes to open", async () => {
    const { agent, turns } = listening("ok");
    const core = makeEngine(agent);
    const { custom } = core.palette;
    let slow = true;
    const palette = {
      ...core.palette,
      custom: async (cwd: string) => {
        if (slow) {
          slow = false;
          await new Promise((resolve) => setTimeout(resolve, 30));
        }
        return custom(cwd);
      },
    };
    const client = await standardClient({ ...core, palette });
    await Promise.all([client.prompt("first"), client.prompt("second")]);
    expect(turns.map(({ prompt }) => prompt.text)).toEqual(["first", "second"]);
  });

  test("that waits can be cancelled while the running one continues", async () => {
    const client = await standardClient(makeEngine(waiting));
    const { sessionId } = client;
    const prompt = [{ type: "text", text: "hi" }];
    const first = client.start("session/prompt", { sessionId, prompt });
    const second = client.start("session/prompt", { sessionId, prompt });
    await client.until((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    client.notify("$/cancel_request", { requestId: second.id });
    expect((await second.answer).result).toMatchObject({ stopReason: "cancelled" });
    client.notify("session/cancel", { sessionId });
    expect((await first.answer).result).toMatchObject({ stopReason: "cancelled" });
  });

  test("that cannot be written to the log is answered with the storage error, and a later one works", async () => {
    let full = false;
    const memory: EventStore<SessionEvent, Summary> = createMemoryStore();
    const store: typeof memory = {
      ...memory,
      create: async (id, summary) => {
        const writer = await memory.create(id, summary);
        return {
          ...writer,
          get lastSeq() {
            return writer.lastSeq;
          },
          append(events) {
            if (full) throw new StoreError("storage_full", "no space left");
            return writer.append(events);
          },
        };
      },
    };
    const core = makeEngine(
      async function* (turn, context) {
        full = turn.number === 0;
        yield* saying("well")(turn, context);
      },
      { store },
    );
    const client = await standardClient(core);
    expect((await client.prompt("one")).error).toMatchObject({ code: -32603, data: { code: "storage_full" } });
    expect((await client.prompt("two")).error).toMatchObject({ code: -32603, data: { code: "storage_full" } });
    full = false;
    expect((await client.prompt("three")).result).toMatchObject({ stopReason: "end_turn" });
    expect(client.problems()).toEqual([]);
  });
});

describe("settings", () => {
  test("a change of mode is sent both as a mode and as the complete list of options", async () => {
    const client = await standardClient(makeEngine(saying("ok")), everything);
    const { sessionId } = client;
    expect((await client.call("session/set_mode", { sessionId, modeId: "auto" })).result).toEqual({});
    await client.until((frame) => frame.params?.update?.sessionUpdate === "config_option_update");
    expect(client.updates("current_mode_update")[0]).toMatchObject({ currentModeId: "auto" });
    const [sent] = client.updates("config_option_update");
    const values = (options: unknown) =>
      Object.fromEntries((options as { id: string; currentValue: unknown }[]).map((one) => [one.id, one.currentValue]));
    expect(values(sent?.["configOptions"])).toEqual({
      model: "test-model",
      mode: "auto",
      agent: "build",
      auto_approve_writes: true,
      auto_approve_execute: true,
      read_only: false,
    });
    const params = { sessionId, configId: "read_only", type: "boolean", value: true };
    const { result } = await client.call("session/set_config_option", params);
    expect(values((result as unknown as { configOptions: unknown }).configOptions)).toMatchObject({
      mode: "read-only",
      auto_approve_writes: true,
      read_only: true,
    });
    await client.until((frame) => frame.params?.update?.["currentModeId"] === "read-only");
    expect(client.problems()).toEqual([]);
  });

  test("booleans are sent only to clients that show them", async () => {
    const client = await standardClient(makeEngine(saying("ok")));
    const { result } = await client.call("session/new", { cwd: "/", mcpServers: [] });
    const { configOptions } = result as unknown as { configOptions: { id: string; type: string }[] };
    expect(configOptions.map(({ id, type }) => [id, type])).toEqual([
      ["model", "select"],
      ["mode", "select"],
      ["agent", "select"],
    ]);
  });

  test("a model set by its option or by the old method reaches the agent", async () => {
    const { agent, turns } = listening("ok");
    const client = await standardClient(makeEngine(agent));
    const { sessionId } = client;
    await client.call("session/set_config_option", { sessionId, configId: "model", value: "m2" });
    await client.prompt("hi");
    expect((await client.call("session/set_model", { sessionId, modelId: "m3" })).result).toEqual({});
    await client.prompt("hi");
    expect(turns.map((turn) => turn.settings.model)).toEqual(["m2", "m3"]);
  });

  test.each([
    ["session/set_mode", { modeId: "turbo" }],
    ["session/set_config_option", { configId: "mode", value: "turbo" }],
    ["session/set_config_option", { configId: "agent", value: "pirate" }],
    ["session/set_config_option", { configId: "model", value: "" }],
    ["session/set_config_option", { configId: "nothing", value: "x" }],
    ["session/set_config_option", { configId: "__proto__", value: "x" }],
    ["session/set_config_option", { configId: "read_only", value: "yes" }],
    ["session/set_config_option", { configId: "model", type: "boolean", value: true }],
  ])("%s %j is -32602", async (method, params) => {
    const client = await standardClient(makeEngine(saying("ok")));
    expect((await client.call(method, { sessionId: client.sessionId, ...params })).error?.code).toBe(-32602);
  });
});

describe("MCP servers", () => {
  const server = { name: "s", command: "/bin/s", args: ["-x"] };

  test.each([
    ["a list", { ...server, env: [{ name: "A", value: "1" }] }, { A: "1" }],
    ["a map", { type: "stdio", ...server, env: { A: "1", B: "2" } }, { A: "1", B: "2" }],
    ["nothing", server, {}],
  ])("reach the agent with variables as %s", async (_, given, env) => {
    const { agent, turns } = listening("ok");
    const core = makeEngine(agent);
    const client = connect(core);
    await client.call("initialize", { protocolVersion: 1 });
    const { result } = await client.call("session/new", { cwd: "/", mcpServers: [given] });
    const { sessionId } = result as unknown as { sessionId: string };
    await client.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
    expect(turns[0]?.settings.mcpServers).toEqual([{ type: "stdio", ...server, env }]);
  });

  test("are kept for a session that was unloaded meanwhile", async () => {
    let now = 0;
    const { agent, turns } = listening("ok");
    const core = makeEngine(agent, { monotonic: () => now, ttl: 60 });
    const client = connect(core);
    await client.call("initialize", { protocolVersion: 1 });
    const http = { type: "http", name: "h", url: "http://localhost:1/", headers: [{ name: "k", value: "v" }] };
    const { result } = await client.call("session/new", { cwd: "/", mcpServers: [http] });
    const { sessionId } = result as unknown as { sessionId: string };
    now = 100_000;
    const { result: reply } = await client.call("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "hi" }],
    });
    expect(reply).toMatchObject({ stopReason: "end_turn" });
    expect(turns[0]?.settings.mcpServers).toEqual([
      { type: "http", name: "h", url: "http://localhost:1/", headers: { k: "v" } },
    ]);
  });
});

describe("the life of a session", () => {
  test("one that was unloaded is shown again, with its questions, when another client continues it", async () => {
    let now = 0;
    const asking: Agent = async function* (_turn, { ask }) {
      yield {
        type: "tool_call",
        metadata: { call_id: "c", tool: "Bash", args: {}, kind: "execute", title: "ls", locations: [] },
      };
      const { decision } = await ask({ call_id: "c", tool: "Bash", args: {}, risk: "low" });
      yield { type: "text_delta", metadata: { text: decision } };
    };
    const core = makeEngine(asking, { monotonic: () => now, ttl: 60 });
    const editor = await standardClient(core);
    const other = connect(core);
    await other.call("initialize", { protocolVersion: 1 });
    now = 100_000;
    core.sessions.evictIdle();
    await expect.poll(() => core.sessions.find(editor.sessionId)).toBeUndefined();
    editor.answer(({ method }) =>
      method === "session/request_permission"
        ? { outcome: { outcome: "selected", optionId: "allow_once" } }
        : undefined,
    );
    const prompt = [{ type: "text", text: "from elsewhere" }];
    await other.call("session/prompt", { sessionId: editor.sessionId, prompt });
    await editor.until((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    expect(editor.updates().map(({ sessionUpdate }) => sessionUpdate)).toEqual(
      expect.arrayContaining(["config_option_update", "user_message_chunk", "agent_message_chunk"]),
    );
    expect(editor.updates("agent_message_chunk")).toMatchObject([{ content: { text: "allow" } }]);
  });

  test("a client that joins or returns in the middle of a message gets the rest under the same message id", async () => {
    let [atHalf, goOn] = [() => {}, () => {}];
    const half = new Promise<void>((resolve) => {
      atHalf = resolve;
    });
    const joined = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const core = makeEngine(async function* () {
      yield { type: "step_start", metadata: { step: 0 } };
      // The message has more records than the server reads back first.
      for (let n = 0; n < 200; n++) {
        yield { type: "text_delta", metadata: { text: `${n} ` } };
        await new Promise((resolve) => setImmediate(resolve));
        if (n === 120) {
          atHalf();
          await joined;
        }
      }
      yield {
        type: "tool_call",
        metadata: { call_id: "c", tool: "Read", args: {}, kind: "read", title: "r", locations: [] },
      };
      yield { type: "text_delta", metadata: { text: "another" } };
    });
    const editor = await standardClient(core);
    const { sessionId } = editor;
    const answer = editor.prompt("talk");
    await half;
    const other = connect(core);
    await other.call("initialize", { protocolVersion: 1 });
    await other.call("session/resume", { sessionId, cwd: "/", mcpServers: [] });
    const loaded = connect(core);
    await loaded.call("initialize", { protocolVersion: 1 });
    await loaded.call("session/load", { sessionId, cwd: "/", mcpServers: [] });
    goOn();
    await answer;
    const isLast = ({ params }: Frame) => JSON.stringify(params?.update ?? {}).includes("another");
    await other.until(isLast);
    const named = (client: Client) => {
      const updates = client.frames.flatMap(({ params }) => (params?.update?.["messageId"] ? [params] : []));
      return new Map(updates.map(({ update, _meta }) => [_meta["chimera.dev/eventId"], update["messageId"]]));
    };
    const first = named(editor);
    expect([...named(other)].length).toBeGreaterThan(1);
    for (const [seq, id] of named(other)) expect([seq, id]).toEqual([seq, first.get(seq)]);
    // The part written before is joined into one record, with the number of its last delta and the message id of its first.
    await loaded.until(isLast);
    const [past] = loaded.updates("agent_message_chunk");
    expect(past).toMatchObject({ content: { text: expect.stringMatching(/^0 1 2 /) } });
    for (const [seq, id] of named(loaded)) if (first.has(seq)) expect([seq, id]).toEqual([seq, first.get(seq)]);
    expect(new Set(loaded.updates("agent_message_chunk").map(({ messageId }) => messageId)).size).toBe(2);
    const third = connect(core);
    await third.call("initialize", { protocolVersion: 1 });
    const middle = [...first.keys()].at(-3)!;
    await third.call("_chimera.dev/session/replay", { sessionId, sinceEventId: middle });
    await third.until(isLast);
    expect(named(third).size).toBe(2);
    for (const [seq, id] of named(third)) expect([seq, id]).toEqual([seq, first.get(seq)]);
  });

  test("one that was unloaded is not kept in memory by the connection that shows it", async () => {
    let now = 0;
    const core = makeEngine(saying("ok"), { monotonic: () => now, ttl: 60 });
    const editor = await standardClient(core);
    await editor.prompt("hi");
    const weakly = () => new WeakRef(core.sessions.find(editor.sessionId)!.conversation);
    const loaded = weakly();
    now = 100_000;
    core.sessions.evictIdle();
    await expect.poll(() => core.sessions.find(editor.sessionId) === undefined).toBe(true);
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    await expect
      .poll(() => {
        collect();
        return loaded.deref() === undefined;
      })
      .toBe(true);
    expect((await editor.prompt("again")).result).toMatchObject({ stopReason: "end_turn" });
  });

  test.each(["session/load", "session/resume", "session/prompt", "session/set_mode", "session/fork"])(
    "%s of an unknown session is -32002 with its id",
    async (method) => {
      const client = await standardClient(makeEngine(saying("ok")));
      const sessionId = "otter-20260101T000000-deadbeef";
      const params = { sessionId, cwd: "/", mcpServers: [], prompt: [], modeId: "auto" };
      const { error } = await client.call(method, params);
      expect(error).toMatchObject({ code: -32002, data: { sessionId } });
      expect(error?.message).not.toContain("\n");
    },
  );

  test("text that is cut for an editor is cut between characters", async () => {
    const faces = `x${"😀".repeat(100_000)}`;
    const silent: Agent = async function* () {
      yield {
        type: "tool_call",
        metadata: { call_id: "c", tool: "Write", args: { text: faces }, kind: "edit", title: "Write", locations: [] },
      };
      yield { type: "tool_result", metadata: { call_id: "c", success: true, output: faces, duration_ms: 1 } };
    };
    const client = await standardClient(makeEngine(silent));
    await client.prompt(faces);
    const { result } = await client.call("session/list", {});
    expect(result).toMatchObject({ sessions: [{ title: `x${"😀".repeat(29)}…` }] });
    const calls = [...client.updates("tool_call"), ...client.updates("tool_call_update")];
    const shown = calls.flatMap(({ rawInput, rawOutput }) =>
      Object.values(Object.assign({}, rawInput, rawOutput)).map(String),
    );
    expect(shown).toHaveLength(2);
    // `encodeURIComponent` throws if half a character is left.
    for (const text of shown) expect(encodeURIComponent(text)).toMatch(/^x%F0%9F%98%80/);
  });

  test("the list has titles, filters by directory and comes in pages", async () => {
    const cwd = scratch();
    const client = await standardClient(makeEngine(saying("Hello")));
    await client.prompt("hi");
    const { result } = await client.call("session/list", {});
    expect(result).toMatchObject({ sessions: [{ sessionId: client.sessionId, cwd: "/", title: "Hello" }] });
    expect((await client.call("session/list", { cwd })).result).toEqual({ sessions: [] });
    for (let i = 0; i < 55; i++) {
      const made = await client.call("session/new", { cwd, mcpServers: [] });
      const { sessionId } = made.result as unknown as { sessionId: string };
      await client.call("session/prompt", { sessionId, prompt: [{ type: "text", text: `p${i}` }] });
    }
    const page = (await client.call("session/list", { cwd })).result as unknown as Page;
    const rest = (await client.call("session/list", { cwd, cursor: page.nextCursor })).result as unknown as Page;
    const ids = [...page.sessions, ...rest.sessions].map((row) => row.sessionId);
    expect(new Set(ids).size).toBe(55);
    expect(rest.nextCursor).toBeUndefined();
    expect(client.problems()).toEqual([]);
  });

  test("an invalid cursor is -32602", async () => {
    const client = await standardClient(makeEngine(saying("hi")));
    expect((await client.call("session/list", { cursor: "%%%" })).error?.code).toBe(-32602);
  });

  test("load replays the visible conversation before its answer, and resume replays nothing", async () => {
    const core = makeEngine((turn, context) => saying("an", "swer ", turn.prompt.text)(turn, context));
    const first = await standardClient(core);
    for (const text of ["one", "two", "/undo"]) await first.prompt(text);
    const { sessionId } = first;
    const second = connect(core, { judged: true });
    await second.call("initialize", { protocolVersion: 1 });
    const loaded = await second.call("session/load", { sessionId, cwd: "/", mcpServers: [] });
    expect(loaded.result).toMatchObject({ modes: { currentModeId: "review" } });
    const chunks = second
      .updates()
      .filter(({ sessionUpdate }) => sessionUpdate.endsWith("message_chunk"))
      .map(({ sessionUpdate, content }) => `${sessionUpdate.split("_")[0]}: ${(content as { text: string }).text}`);
    expect(chunks.slice(0, 2)).toEqual(["user: one", "agent: answer one"]);
    expect(chunks.join()).not.toContain("two");
    expect(second.frames.at(-1)).toBe(loaded);
    const third = connect(core, { judged: true });
    await third.call("initialize", { protocolVersion: 1 });
    const resumed = await third.call("session/resume", { sessionId, cwd: "/" });
    expect(third.frames.at(1)).toBe(resumed);
    expect([...second.problems(), ...third.problems()]).toEqual([]);
  });

  test("keeps every model that was chosen in the picker", async () => {
    const client = await standardClient(makeEngine(saying("ok")));
    const { sessionId } = client;
    const pick = async (value: string) => {
      const params = { sessionId, configId: "model", value };
      const { result } = await client.call("session/set_config_option", params);
      const [model] = result!["configOptions"] as unknown as { options: { value: string }[] }[];
      return model!.options.map((option) => option.value);
    };
    await pick("first/one");
    await pick("second/two");
    expect(await pick("test-model")).toEqual(expect.arrayContaining(["first/one", "second/two", "test-model"]));
    const { result } = await client.call("session/new", { cwd: "/", mcpServers: [] });
    expect(JSON.stringify(result)).toContain("second/two");
    expect(client.problems()).toEqual([]);
  });

  test("lists its commands when it is opened: after the answer to new, fork and resume, before the answer to load", async () => {
    const core = makeEngine(saying("ok"));
    const client = await standardClient(core);
    const { sessionId } = client;
    await client.prompt("hi");
    const order = async (method: string, params: object) => {
      client.frames.length = 0;
      const answer = await client.call(method, { cwd: "/", mcpServers: [], ...params });
      const listing = await client.until(({ params }) => params?.update?.sessionUpdate === "available_commands_update");
      expect(client.updates("available_commands_update")).toHaveLength(1);
      const listed = listing.params!.update["availableCommands"] as { name: string }[];
      const names = listed.map(({ name }) => name);
      expect(names).toContain("undo");
      // A client that shows one session per thread cannot follow this command.
      expect(names).not.toContain("new");
      return client.frames.indexOf(answer) < client.frames.indexOf(listing) ? "after" : "before";
    };
    expect(await order("session/new", {})).toBe("after");
    expect(await order("session/resume", { sessionId })).toBe("after");
    expect(await order("session/fork", { sessionId })).toBe("after");
    expect(await order("session/load", { sessionId })).toBe("before");
    expect(client.problems()).toEqual([]);
  });

  test("replay by cursor sends every record, raw, with the ids seen live", async () => {
    const client = await standardClient(makeEngine(saying("a", "b"), { coalesce: false }));
    await client.prompt("one");
    const ids = () =>
      client.frames.map((frame) => frame.params?._meta?.["chimera.dev/eventId"]).filter(Number.isInteger);
    const live = ids();
    client.frames.length = 0;
    const { result } = await client.call("_chimera.dev/session/replay", {
      sessionId: client.sessionId,
      sinceEventId: 2,
    });
    expect(result).toMatchObject({ lastEventId: expect.any(Number), truncated: false });
    expect(ids()).toEqual(live);
  });

  test("close during a turn first ends the prompt as cancelled, then answers", async () => {
    const client = await standardClient(makeEngine(waiting));
    const { sessionId } = client;
    const prompt = client.prompt("hi");
    await client.until((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    const closed = await client.call("session/close", { sessionId });
    expect([closed.result, (await prompt).result]).toMatchObject([{}, { stopReason: "cancelled" }]);
    expect(client.frames.at(-1)).toBe(closed);
    expect((await client.call("session/close", { sessionId })).result).toEqual({});
  });

  test.each(["close", "end"] as const)(
    "when the connection ends by %s, a prompt whose turn goes on fails, and is not said to be cancelled",
    async (how) => {
      const core = makeEngine(waiting);
      const client = await standardClient(core);
      const prompt = client.prompt("hi");
      await client.until((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
      void client[how]();
      const { error } = await prompt;
      expect(error).toMatchObject({ code: -32603, data: { code: "outcome_unknown" } });
      // It began a turn, so it must not look like one that may be sent again.
      expect(error?.data).not.toHaveProperty("retryable");
      const session = core.sessions.find(client.sessionId)!;
      expect(session.state).not.toBe("idle");
      const other = connect(core);
      await other.call("initialize", { protocolVersion: 1 });
      await other.call("session/load", { sessionId: client.sessionId, cwd: "/", mcpServers: [] });
      await other.call("session/cancel", { sessionId: client.sessionId });
      await session.idle();
    },
  );

  test("when the connection ends after the turn was cancelled, its prompt is answered as cancelled", async () => {
    const core = makeEngine(waiting);
    const client = await standardClient(core);
    const prompt = client.prompt("hi");
    await client.until((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    await core.sessions.close(client.sessionId);
    void client.close();
    expect((await prompt).result).toMatchObject({ stopReason: "cancelled" });
  });

  test("delete during a turn does so too, and deleting a missing session succeeds", async () => {
    const client = await standardClient(makeEngine(waiting));
    const { sessionId } = client;
    const prompt = client.prompt("hi");
    await client.until((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    expect((await client.call("session/delete", { sessionId })).result).toEqual({});
    expect((await prompt).result).toMatchObject({ stopReason: "cancelled" });
    expect((await client.call("session/delete", { sessionId })).result).toEqual({});
    expect((await client.call("session/load", { sessionId, cwd: "/", mcpServers: [] })).error?.code).toBe(-32002);
  });

  test("when a log becomes unreadable its waiting prompt fails with an error, and a load shows the session again", async () => {
    const store = createMemoryStore<SessionEvent, Summary>();
    let fail: (error: Error) => void = () => {};
    const failing = new Promise<never>((_, reject) => {
      fail = reject;
    });
    failing.catch(() => {});
    const subscribe: typeof store.subscribe = (...args) => {
      const subscription = store.subscribe(...args);
      return { close: subscription.close, cursor: 0, ended: Promise.race([subscription.ended, failing]) };
    };
    const client = await standardClient(makeEngine(waiting, { store: { ...store, subscribe } }));
    const prompt = client.prompt("hi");
    await client.until((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    fail(new Error("the disk is gone"));
    expect((await prompt).error).toMatchObject({ code: expect.any(Number) });
    const { sessionId } = client;
    expect((await client.call("session/load", { sessionId, cwd: "/", mcpServers: [] })).error).toBeUndefined();
  });

  test("fork takes the message index and the servers", async () => {
    const { agent, turns } = listening("ok");
    const client = await standardClient(makeEngine(agent));
    const { sessionId } = client;
    for (const text of ["one", "two"]) await client.prompt(text);
    const { result } = await client.call("session/fork", {
      sessionId,
      cwd: "/",
      mcpServers: [{ name: "s", command: "s", args: [], env: [] }],
      _meta: { "chimera.dev/messageIndex": 0 },
    });
    const child = (result as unknown as { sessionId: string }).sessionId;
    await client.call("session/prompt", { sessionId: child, prompt: [{ type: "text", text: "three" }] });
    expect(turns.at(-1)?.history.map((message) => message.role)).toEqual(["user", "assistant"]);
    expect(turns.at(-1)?.settings.mcpServers).toHaveLength(1);
    expect(client.problems()).toEqual([]);
  });

  test.each([
    { cwd: "relative" },
    { cwd: "/no/such/place" },
    { cwd: "/etc/passwd" },
    { cwd: "/", additionalDirectories: ["x"] },
  ])("new in %j is -32602", async (params) => {
    const client = await standardClient(makeEngine(saying("ok")));
    expect((await client.call("session/new", { mcpServers: [], ...params })).error?.code).toBe(-32602);
  });

  test("fields that clients leave out are filled in if they can have only one value", async () => {
    const { agent, turns } = listening("ok");
    const client = await standardClient(makeEngine(agent), everything);
    const { sessionId } = client;
    const prompt = [
      { type: "text", text: "look" },
      { type: "resource_link", uri: "/home/me/notes/a.md" },
      { type: "resource_link", uri: "file:///home/me/b/", name: "kept" },
    ];
    expect((await client.call("session/prompt", { sessionId, prompt })).result).toMatchObject({
      stopReason: "end_turn",
    });
    expect(turns[0]?.prompt.text).toBe("look\n[a.md](/home/me/notes/a.md)\n[kept](file:///home/me/b/)");
    const chosen = await client.call("session/set_config_option", { sessionId, configId: "read_only", value: true });
    expect(chosen.result?.["configOptions"]).toContainEqual(
      expect.objectContaining({ id: "read_only", currentValue: true }),
    );
    expect((await client.call("session/load", { sessionId, cwd: "/" })).error).toBeUndefined();
    const unnamed = await client.call("session/prompt", { sessionId, prompt: [{ type: "resource_link" }] });
    expect(unnamed.error?.code).toBe(-32602);
  });

  test("set_title names a session for all clients, and a title that is too long is -32602", async () => {
    const client = await standardClient(makeEngine(saying("ok")));
    const { sessionId } = client;
    expect((await client.call("session/set_title", { sessionId, title: " A\n name " })).result).toEqual({
      title: "A name",
    });
    await client.prompt("hi");
    const titles = client.updates().filter((update) => update.sessionUpdate === "session_info_update");
    expect(titles).toMatchObject([{ title: "A name" }]);
    expect((await client.call("session/set_title", { sessionId, title: "x".repeat(201) })).error?.code).toBe(-32602);
    expect((await client.call("session/set_title", { sessionId: "nobody", title: "x" })).error?.code).toBe(-32002);
  });

  test("undo and redo can be called as methods", async () => {
    const client = await standardClient(makeEngine(saying("ok")));
    const { sessionId } = client;
    await client.prompt("hi");
    expect((await client.call("_chimera.dev/session/undo", { sessionId })).result).toMatchObject({
      turns: 1,
      remaining: 0,
    });
    expect((await client.call("_chimera.dev/session/redo", { sessionId, steps: 2 })).result).toMatchObject({
      turns: 1,
    });
    expect((await client.call("_chimera.dev/session/undo", { sessionId, steps: -1 })).error?.code).toBe(-32602);
    expect((await client.call("_other.dev/thing", {})).error?.code).toBe(-32601);
  });
});

interface Page {
  readonly sessions: { readonly sessionId: string }[];
  readonly nextCursor?: string;
}

test("the error of a failing disk has a code and says what to do", () => {
  const CONTEXT = { method: "session/prompt" };
  const io = new StoreError("io", "cannot write /a/path: EIO", { cause: { code: "EIO" } });
  const data = { code: "storage_failed", message: expect.stringMatching(/^the disk failed \(EIO\): try again/) };
  expect(standardError(io, CONTEXT)).toMatchObject({ code: -32603, data });
  expect(nativeError(true)(io, CONTEXT)).toMatchObject({ code: -32000, message: data.message });
  const holder = { program: "otter", pid: 7, host: "there", instance: "x", start: null, boot: null, pidns: null };
  const fenced = new StoreError("fenced", "taken over", { holder });
  expect(standardError(fenced, CONTEXT)).toMatchObject({
    data: { code: "session_claimed", holder: { pid: 7, host: "there" } },
  });
});
