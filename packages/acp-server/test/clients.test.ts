// Clients provide files and terminals to the agent, and several of them share one session.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { Agent, AgentContext } from "@chimera/session";
import { describe, expect, test } from "vitest";
import { connect, type Frame, makeEngine, scratch, standardClient } from "./harness.js";

/** An agent that runs `work` and sends its result, or its error, as text. */
const doing = (work: (context: AgentContext) => Promise<unknown>): Agent =>
  async function* (_turn, context) {
    const outcome = await work(context).catch((error: Error) => `failed: ${error.message}`);
    yield { type: "text_delta", metadata: { text: JSON.stringify(outcome) } };
  };

const said = (frames: readonly Frame[]) =>
  frames
    .flatMap((frame) => frame.params?.update ?? [])
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .map((update) => (update["content"] as { text: string }).text)
    .join("");

const disk = { readText: async () => "from disk", writeText: async () => {} };

const reading = doing(({ workspace }) => workspace.readText("/a.txt"));

describe("an editor's files", () => {
  test("are read from its buffers if it offers them", async () => {
    const client = await standardClient(makeEngine(reading, { disk }), { fs: { readTextFile: true } });
    client.answer(({ method, params }) => method === "fs/read_text_file" && { content: `unsaved ${params?.["path"]}` });
    await client.prompt("go");
    expect(said(client.frames)).toBe('"unsaved /a.txt"');
    expect(client.problems()).toEqual([]);
  });

  test("are written through it", async () => {
    const core = makeEngine(
      doing(({ workspace }) => workspace.writeText("/a.txt", "new")),
      { disk },
    );
    const client = await standardClient(core, { fs: { writeTextFile: true } });
    const written: unknown[] = [];
    client.answer(({ params }) => {
      written.push(params);
      return {};
    });
    await client.prompt("go");
    expect(written).toEqual([{ sessionId: client.sessionId, path: "/a.txt", content: "new" }]);
    expect(client.problems()).toEqual([]);
  });

  test("are read from the disk if it does not offer them", async () => {
    const client = await standardClient(makeEngine(reading, { disk }), { fs: { writeTextFile: true } });
    await client.prompt("go");
    expect(said(client.frames)).toBe('"from disk"');
    expect(client.frames.filter((frame) => frame.method?.startsWith("fs/"))).toEqual([]);
  });

  test("that cannot be read fail only the call", async () => {
    const client = await standardClient(makeEngine(reading, { disk }), { fs: { readTextFile: true } });
    client.answer(() => new Error("no such buffer"));
    expect((await client.prompt("go")).result).toMatchObject({ stopReason: "end_turn" });
    expect(said(client.frames)).toContain("no such buffer");
  });

  test.each([
    ["not there", "/nowhere/a.txt", '"ENOENT"'],
    ["there and refused", import.meta.filename, "-32"],
  ])("that are %s get an error of their own, because a missing file may still be written", async (_, path, code) => {
    const agent = doing(({ workspace }) => workspace.readText(path).catch((error) => error.code));
    const client = await standardClient(makeEngine(agent, { disk }), { fs: { readTextFile: true } });
    client.answer(() => new Error("Resource not found"));
    await client.prompt("go");
    expect(said(client.frames)).toContain(code);
  });

  test("that are refused fail with the reason that the editor gives in `data`", async () => {
    const agent = doing(({ workspace }) => workspace.readText(import.meta.filename).catch((error) => error.message));
    const client = connect(makeEngine(agent, { disk }));
    await client.call("initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true } } });
    const { result } = await client.call("session/new", { cwd: "/", mcpServers: [] });
    const { sessionId } = result as unknown as { sessionId: string };
    client.answer(({ id }) => {
      const error = { code: -32603, message: "Internal error", data: { details: "the buffer is binary" } };
      client.send(JSON.stringify({ jsonrpc: "2.0", id, error }));
      return undefined;
    });
    await client.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    expect(said(client.frames)).toContain("Internal error: the buffer is binary");
  });

  test("are written into a new directory even if the editor does not make directories", async () => {
    const path = join(scratch(), "new", "deep", "a.txt");
    const agent = doing(({ workspace }) => workspace.writeText(path, "hello"));
    const client = await standardClient(makeEngine(agent, { disk }), { fs: { writeTextFile: true } });
    client.answer(({ params }) => {
      writeFileSync(String(params?.["path"]), String(params?.["content"]));
      return {};
    });
    await client.prompt("go");
    expect(readFileSync(path, "utf8")).toBe("hello");
  });

  test.each([[null], [5], [[]], [{}], [{ content: null }], [{ content: ["x"] }]])(
    "answered with %j fail the call with an explanation",
    async (answer) => {
      const client = await standardClient(makeEngine(reading, { disk }), { fs: { readTextFile: true } });
      client.answer(() => answer);
      expect((await client.prompt("go")).result).toMatchObject({ stopReason: "end_turn" });
      expect(said(client.frames)).toContain("failed: the editor's answer to fs/read_text_file is invalid");
    },
  );

  test("that never arrive do not delay the end of a cancelled turn", async () => {
    const client = await standardClient(makeEngine(reading, { disk }), { fs: { readTextFile: true } });
    const { sessionId } = client;
    const { answer } = client.start("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    const asked = await client.until((frame) => frame.method === "fs/read_text_file");
    const since = performance.now();
    client.notify("session/cancel", { sessionId });
    expect((await answer).result).toMatchObject({ stopReason: "cancelled" });
    expect(performance.now() - since).toBeLessThan(1000);
    const withdrawn = client.frames.filter((frame) => frame.method === "$/cancel_request");
    expect(withdrawn.map((frame) => frame.params)).toEqual([{ requestId: asked.id }]);
  });

  test("are read from the disk again when it has left", async () => {
    const core = makeEngine(
      doing(async ({ workspace }) => {
        const first = await workspace.readText("/a").catch(() => "gone");
        return [first, await workspace.readText("/a")];
      }),
      { disk },
    );
    const editor = await standardClient(core, { fs: { readTextFile: true } });
    editor.answer(({ method }) => {
      if (method === "fs/read_text_file") editor.end();
      return undefined;
    });
    const watcher = connect(core);
    await watcher.call("initialize", { protocolVersion: 1 });
    await watcher.call("session/resume", { sessionId: editor.sessionId, cwd: "/" });
    editor.start("session/prompt", { sessionId: editor.sessionId, prompt: [{ type: "text", text: "go" }] });
    await watcher.until((frame) => said([frame]).startsWith("["));
    expect(said(watcher.frames)).toMatch(/> \*\*Warning:\*\* .*editor[\s\S]*\["gone","from disk"\]$/);
  });
});

test("a client that leaves while its session is being loaded leaves nothing behind in the session", async () => {
  const core = makeEngine(reading);
  const { id } = await core.sessions.create({ cwd: "/" });
  let load = () => {};
  const loading = new Promise<void>((resolve) => {
    load = resolve;
  });
  const client = connect(core, { sessions: () => loading.then(() => core) });
  await client.call("initialize", { protocolVersion: 1 });
  client.start("session/prompt", { sessionId: id, prompt: [{ type: "text", text: "go" }] });
  client.end();
  await client.closed;
  load();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(core.sessions.find(id)).toMatchObject({ attended: false, state: "idle" });
});

describe("an editor's terminal", () => {
  const running = (timeoutMs: number, signal = new AbortController().signal) =>
    doing(async ({ workspace }) => {
      const started: string[] = [];
      const outcome = await workspace.terminal?.run({
        command: "make",
        args: ["all"],
        cwd: "/",
        env: { A: "1" },
        timeoutMs,
        signal,
        onStart: (id) => void started.push(id),
      });
      return { started, ...outcome };
    });
  const terminal =
    (exit: unknown) =>
    ({ method }: Frame) =>
      ({
        "terminal/create": { terminalId: "t1" },
        "terminal/wait_for_exit": exit,
        "terminal/output": { output: "built", truncated: false },
        "terminal/kill": {},
        "terminal/release": {},
      })[method ?? ""];
  const methods = (frames: readonly Frame[]) =>
    frames.flatMap((frame) => (frame.method?.startsWith("terminal/") ? [frame.method.slice(9)] : []));

  test("is absent unless the editor offers it", async () => {
    const client = await standardClient(makeEngine(doing(async ({ workspace }) => workspace.terminal === undefined)));
    await client.prompt("go");
    expect(said(client.frames)).toBe("true");
  });

  test.each(["create", "wait_for_exit", "output"])("fails the call if its answer to %s is invalid", async (broken) => {
    const client = await standardClient(makeEngine(running(60_000)), { terminal: true });
    client.answer((frame) => (frame.method === `terminal/${broken}` ? "x" : terminal({ exitCode: 0 })(frame)));
    expect((await client.prompt("go")).result).toMatchObject({ stopReason: "end_turn" });
    expect(said(client.frames)).toContain(`failed: the editor's answer to terminal/${broken} is invalid`);
    expect(methods(client.frames).at(-1)).toBe(broken === "create" ? "create" : "release");
  });

  test("is created, awaited, read and released", async () => {
    const client = await standardClient(makeEngine(running(5000)), { terminal: true });
    client.answer(terminal({ exitCode: 2 }));
    await client.prompt("go");
    expect(methods(client.frames)).toEqual(["create", "wait_for_exit", "output", "release"]);
    expect(JSON.parse(said(client.frames))).toEqual({
      started: ["t1"],
      output: "built",
      truncated: false,
      exitCode: 2,
      signal: null,
      timedOut: false,
    });
    expect(client.frames.find((frame) => frame.method === "terminal/create")?.params).toMatchObject({
      command: "make",
      args: ["all"],
      env: [{ name: "A", value: "1" }],
    });
    expect(client.problems()).toEqual([]);
  });

  test("is killed, read and released when the time is over", async () => {
    const client = await standardClient(makeEngine(running(30)), { terminal: true });
    client.answer(terminal(undefined));
    await client.prompt("go");
    expect(methods(client.frames)).toEqual(["create", "wait_for_exit", "kill", "output", "release"]);
    expect(JSON.parse(said(client.frames))).toMatchObject({ timedOut: true, output: "built", exitCode: null });
    expect(client.problems()).toEqual([]);
  });

  test("is released when the wait for its exit fails", async () => {
    const client = await standardClient(makeEngine(running(5000)), { terminal: true });
    client.answer((frame) =>
      frame.method === "terminal/wait_for_exit" ? new Error("lost it") : terminal({ exitCode: 0 })(frame),
    );
    await client.prompt("go");
    expect(methods(client.frames)).toEqual(["create", "wait_for_exit", "release"]);
    expect(said(client.frames)).toContain("lost it");
  });
});

describe("two clients on one session", () => {
  const call: AgentEvent = {
    type: "tool_call",
    metadata: { call_id: "c1", tool: "Bash", args: { command: "ls" }, kind: "execute", title: "Run ls", locations: [] },
  };
  const asking: Agent = async function* (_turn, { ask }) {
    yield call;
    const { decision } = await ask({ call_id: "c1", tool: "Bash", args: { command: "ls" }, risk: "low" });
    yield { type: "text_delta", metadata: { text: decision } };
  };
  async function both(agent: Agent) {
    const core = makeEngine(agent);
    const first = await standardClient(core);
    const second = connect(core, { judged: true });
    await second.call("initialize", { protocolVersion: 1 });
    await second.call("session/resume", { sessionId: first.sessionId, cwd: "/" });
    return { first, second };
  }

  test("see everything, and the prompt is shown only to the one that did not send it", async () => {
    const { first, second } = await both(doing(async () => "hello"));
    await first.prompt("hi");
    await second.until((frame) => said([frame]) !== "");
    expect(said(second.frames)).toBe(said(first.frames));
    expect(second.updates("user_message_chunk")).toEqual([
      { sessionUpdate: "user_message_chunk", messageId: expect.any(String), content: { type: "text", text: "hi" } },
    ]);
    expect(first.updates("user_message_chunk")).toEqual([]);
  });

  test("are both asked, and when one answers the other's question is withdrawn", async () => {
    const { first, second } = await both(asking);
    second.answer(({ method }) =>
      method === "session/request_permission"
        ? { outcome: { outcome: "selected", optionId: "allow_once" } }
        : undefined,
    );
    const reply = first.prompt("go");
    const asked = await first.until((frame) => frame.method === "session/request_permission");
    expect(asked.params).toMatchObject({
      toolCall: { toolCallId: "c1", title: "Run ls", kind: "execute", status: "pending", rawInput: { command: "ls" } },
      _meta: { "chimera.dev/risk": expect.stringMatching(/^(low|medium|high|critical)$/) },
    });
    const options = asked.params?.["options"] as unknown as { optionId: string; kind: string }[];
    expect(options.map(({ kind }) => kind)).toEqual(["allow_once", "allow_always", "reject_once", "reject_always"]);
    const withdrawn = await first.until((frame) => frame.method === "$/cancel_request");
    expect(withdrawn.params).toEqual({ requestId: asked.id });
    expect((await reply).result).toMatchObject({ stopReason: "end_turn" });
    expect(said(first.frames)).toBe("allow");
    expect([...first.problems(), ...second.problems()]).toEqual([]);
  });

  test.each([
    [{ outcome: { outcome: "selected", optionId: "allow_always" } }, "always"],
    [{ outcome: { outcome: "selected", optionId: "reject_always" } }, "never"],
    [{ outcome: { outcome: "selected", optionId: "no such option" } }, "deny"],
    [{ outcome: { outcome: "cancelled" } }, "deny"],
    [{ nonsense: true }, "deny"],
    [new Error("cannot ask"), "deny"],
  ])("an answer of %j means %s", async (answer, decision) => {
    const client = await standardClient(makeEngine(asking));
    client.answer(() => answer);
    await client.prompt("go");
    expect(said(client.frames)).toBe(decision);
  });

  test("a cancel withdraws the question and ends the turn", async () => {
    const client = await standardClient(makeEngine(asking));
    const reply = client.prompt("go");
    const asked = await client.until((frame) => frame.method === "session/request_permission");
    client.notify("session/cancel", { sessionId: client.sessionId });
    expect((await client.until((frame) => frame.method === "$/cancel_request")).params).toEqual({
      requestId: asked.id,
    });
    expect((await reply).result).toMatchObject({ stopReason: "cancelled" });
  });

  test("keep a question when one of them leaves, and it is denied when the last one leaves", async () => {
    const { first, second } = await both(asking);
    first.start("session/prompt", { sessionId: first.sessionId, prompt: [{ type: "text", text: "go" }] });
    await second.until((frame) => frame.method === "session/request_permission");
    first.end();
    await first.closed;
    expect(said(second.frames)).toBe("");
    second.end();
    await second.closed;
    expect(said(second.frames)).toBe("");
  });
});
