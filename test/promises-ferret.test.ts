// ferret: its dialect, presets, memory of answers, and both transports at once.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as sdk from "@agentclientprotocol/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { ofKind, startEditor } from "./editor.js";
import { connect, type Frame, nativePeer, type Peer, updatesOf } from "./peer.js";
import { addressOf, startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

const kindOf = (frame: Frame) => frame.params?.kind as string | undefined;
const call = (tool: string, args: object) => ({
  steps: [{ reply: [{ text: "So. " }, { call: tool, args }] }, { reply: [{ text: "Done." }] }],
});
const bash = (command: string) => call("Bash", { command });

async function ferret(turns: object[], args: string[] = [], home?: string): Promise<Peer> {
  const file = join(scratchTree({ "script.json": { turns, repeat: true } }), "script.json");
  const all = ["serve", "--model", `scripted:${file}`, ...args];
  const peer = connect(startProgram("ferret", all, {}, home === undefined ? {} : { home }));
  await peer.request("initialize", {});
  return peer;
}
const writable = ["--sandbox", "workspace-write", "--approval", "auto"];
const open = async (peer: Peer) => (await peer.request("session/new", {})).result.sessionId as string;
const message = (peer: Peer, sessionId: string, text = "go") =>
  peer.request("session/message", { sessionId, message: text });
const ofKinds = (peer: Peer, sessionId: string, kind: string) =>
  updatesOf(peer, sessionId).flatMap((frame) => (kindOf(frame) === kind ? [frame.params] : []));

test("the handshake", async () => {
  const peer = connect(startProgram("ferret", ["serve"]));
  peer.line('{"jsonrpc":"2.0","id":"a-1","method":"initialize","params":{}}');
  const answer = await peer.find((frame) => frame.id === "a-1");
  expect(answer.result).toMatchObject({
    protocolVersion: "0.2",
    capabilities: { sandbox: true, approval: true, streaming: true, cancellation: true, bridge: true },
  });
});

test("every method of otter's is there, and four more", async () => {
  const peer = await nativePeer("ferret");
  const sessionId = await open(peer);
  const methods: [string, object][] = [
    ["session/list", {}],
    ["session/load", { sessionId }],
    ["session/get", { sessionId }],
    ["session/message", { sessionId, message: "list files" }],
    ["session/turn", { sessionId, prompt: "list files" }],
    ["session/cancel", { sessionId }],
    ["session/setMode", { sessionId, mode: "plan" }],
    ["session/setModel", { sessionId, model: "offline" }],
    ["session/resume", { sessionId, sinceEventId: 0 }],
    ["session/fork", { sessionId }],
    ["session/setSandbox", { sessionId }],
    ["session/setApproval", { sessionId, preset: "auto" }],
    ["session/bridgeStatus", { sessionId }],
  ];
  for (const [method, params] of methods) expect((await peer.request(method, params)).error, method).toBeUndefined();
  expect((await peer.request("permission/respond", { sessionId, id: "perm-0", decision: "allow" })).error?.code).toBe(
    -32602,
  );
  expect((await peer.request("session/fly", {})).error?.code).toBe(-32601);
});

test("sessions lie below eventlog/ferret-*, and those are listed", async () => {
  const peer = await nativePeer("ferret");
  const sessionId = await open(peer);
  await message(peer, sessionId, "list files");
  expect(sessionId).toMatch(/^ferret-/);
  expect(readdirSync(join(peer.program.home, "eventlog"))).toContain(sessionId);
  const { sessions } = (await peer.request("session/list", {})).result;
  expect(sessions.map((row: { sessionId: string }) => row.sessionId)).toEqual([sessionId]);
});

describe("updates", () => {
  test("carry kind and payload, flat, and otter's update beside", async () => {
    const turn = {
      steps: [
        {
          reply: [
            { text: "So. " },
            { call: "Bash", args: { command: "echo out; echo err >&2" } },
            { usage: { input: 1000, output: 100 } },
          ],
        },
        { reply: [{ text: "Done." }] },
      ],
    };
    // Updates, not confinement: it holds on a machine without bubblewrap too.
    const peer = await ferret([turn], [...writable, "--os-sandbox", "off"]);
    const sessionId = await open(peer);
    const { result } = await message(peer, sessionId);
    expect(result.output).toContain("Done.");
    for (const frame of updatesOf(peer, sessionId)) {
      expect(frame.params).toMatchObject({ sessionId, eventId: expect.any(Number), kind: expect.any(String) });
      expect(frame.params.update.sessionUpdate).toEqual(expect.any(String));
    }
    const chunks = ofKinds(peer, sessionId, "agent_message_chunk");
    expect(chunks.map((chunk) => chunk.text).join("")).toBe("So. Done.");
    expect(chunks[0].update).toMatchObject({ sessionUpdate: "agent_message_chunk", content: { type: "text" } });
    const [start] = ofKinds(peer, sessionId, "tool_call_start");
    expect(start).toMatchObject({ id: expect.any(String), tool: "Bash", args: { command: "echo out; echo err >&2" } });
    const progress = ofKinds(peer, sessionId, "tool_call_progress");
    expect(progress.map((update) => update.stdout ?? "").join("")).toContain("out");
    expect(progress.map((update) => update.stderr ?? "").join("")).toContain("err");
    expect(ofKinds(peer, sessionId, "tool_call_end")[0]).toMatchObject({
      id: start.id,
      result: expect.anything(),
      duration_ms: expect.any(Number),
    });
    expect(ofKinds(peer, sessionId, "cost_update").at(-1)).toMatchObject({
      input: 1000,
      output: 100,
      cache: 0,
      reasoning: 0,
      total_usd: expect.any(Number),
    });
    expect(ofKinds(peer, sessionId, "turn_end")).toEqual([
      expect.objectContaining({ id: expect.anything(), stop_reason: "end_turn" }),
    ]);
  });

  test("an edit comes as a diff, and the place is pointed at", async () => {
    const peer = await ferret(
      [call("Write", { path: "README.md", content: "# Another\n" }), call("Read", { path: "README.md", offset: 1 })],
      writable,
    );
    const sessionId = await open(peer);
    await message(peer, sessionId);
    const path = join(peer.program.cwd, "README.md");
    expect(ofKinds(peer, sessionId, "file_edit")[0]).toMatchObject({
      path,
      diff: expect.stringContaining("+# Another"),
    });
    await message(peer, sessionId);
    expect(ofKinds(peer, sessionId, "file_open")[0]).toMatchObject({ path, line: 1 });
  });

  test("a notice is a toast with its level", async () => {
    const retried = {
      steps: [{ reply: [{ error: { code: "rate_limited", retryAfterMs: 20, times: 1 } }, { text: "Ok." }] }],
    };
    const peer = await ferret([retried]);
    const sessionId = await open(peer);
    await message(peer, sessionId);
    expect(ofKinds(peer, sessionId, "notice")[0]).toMatchObject({
      level: expect.stringMatching(/^(info|warning|error)$/),
      text: expect.any(String),
    });
  });

  test("what the sandbox refuses is reported with tool, path and mode", async () => {
    const peer = await ferret([call("Write", { path: "/etc/chimera-test", content: "x" })], writable);
    const sessionId = await open(peer);
    await message(peer, sessionId);
    expect(ofKinds(peer, sessionId, "sandbox_violation")[0]).toMatchObject({
      tool: "Write",
      path: "/etc/chimera-test",
      mode: "workspace-write",
    });
    expect(existsSync("/etc/chimera-test")).toBe(false);
  });

  test("a command's too", { tags: ["needs-sandbox"] }, async () => {
    const peer = await ferret(
      [bash("touch /etc/chimera-test")],
      ["--sandbox", "workspace-write", "--approval", "full"],
    );
    const sessionId = await open(peer);
    await message(peer, sessionId);
    expect(ofKinds(peer, sessionId, "sandbox_violation")[0]).toMatchObject({
      tool: "Bash",
      path: "/etc/chimera-test",
      mode: "workspace-write",
    });
    expect(existsSync("/etc/chimera-test")).toBe(false);
  });
});

describe("sandbox and approval", () => {
  test("--cwd and --allowed-tools hold, as do --model, --sandbox and --approval", async () => {
    const cwd = scratchTree({ "elsewhere.txt": "x" });
    const turns = [call("Write", { path: "note.txt", content: "x" }), call("Read", { path: "elsewhere.txt" })];
    const peer = await ferret(turns, [...writable, "--cwd", cwd, "--allowed-tools", "Read"]);
    const { result } = await peer.request("session/new", {});
    expect(result.cwd).toBe(cwd);
    await message(peer, result.sessionId);
    expect(existsSync(join(cwd, "note.txt"))).toBe(false);
    await message(peer, result.sessionId);
    const ends = ofKinds(peer, result.sessionId, "tool_call_end");
    expect(ends.map((end) => end.update.success ?? end.success)).toEqual([false, true]);
  });

  test("the mode is read; writing it needs a restart", async () => {
    const peer = await ferret([], writable);
    const sessionId = await open(peer);
    expect((await peer.request("session/setSandbox", { sessionId })).result).toEqual({ mode: "workspace-write" });
    expect((await peer.request("session/setSandbox", { sessionId, mode: "read-only" })).result).toEqual({
      mode: "workspace-write",
      requested: "read-only",
      restartRequired: true,
      message: "restart required",
    });
    expect((await peer.request("session/setSandbox", { sessionId })).result).toEqual({ mode: "workspace-write" });
  });

  test("the preset changes at once, and every client hears of it", async () => {
    const peer = await ferret(
      [call("Write", { path: "note.txt", content: "x" })],
      ["--sandbox", "workspace-write", "--approval", "read-only"],
    );
    const sessionId = await open(peer);
    await message(peer, sessionId);
    expect(existsSync(join(peer.program.cwd, "note.txt"))).toBe(false);
    const { result } = await peer.request("session/setApproval", { sessionId, preset: "auto" });
    expect(result).toEqual({ old: "read-only", new: "auto" });
    await peer.find((frame) => kindOf(frame) === "approval_changed");
    expect(ofKinds(peer, sessionId, "approval_changed")[0]).toMatchObject({ old: "read-only", new: "auto" });
    await message(peer, sessionId);
    expect(existsSync(join(peer.program.cwd, "note.txt"))).toBe(true);
  });

  const push = [bash("git push origin main")];
  test("an answer holds for the same words, however they are written, and for no others", async () => {
    const lines = ["git push origin main", "git  push   'origin' main", "git push origin main -f"];
    const peer = await ferret(lines.map(bash), writable);
    const sessionId = await open(peer);
    const asked = async (line: string, decision: string) => {
      const reply = message(peer, sessionId);
      const { params } = await peer.find(
        (frame) => kindOf(frame) === "permission_request" && frame.params.args.command === line,
      );
      await peer.request("permission/respond", { sessionId, id: params.id, decision });
      await reply;
    };
    await asked(lines[0]!, "always");
    await message(peer, sessionId);
    expect(ofKinds(peer, sessionId, "permission_request")).toHaveLength(1);
    await asked(lines[2]!, "deny");
    expect(ofKinds(peer, sessionId, "permission_request")).toHaveLength(2);
  });

  test("under auto a flagged command still asks", async () => {
    const peer = await ferret(push, writable);
    const sessionId = await open(peer);
    const reply = message(peer, sessionId);
    const { params } = await peer.find((frame) => kindOf(frame) === "permission_request");
    expect(params).toMatchObject({
      sessionId,
      id: expect.any(String),
      tool: "Bash",
      args: { command: "git push origin main" },
      risk: "medium",
    });
    const answer = await peer.request("permission/respond", { sessionId, id: params.id, decision: "deny" });
    expect(answer.result).toEqual({ ok: true });
    await reply;
  });

  test.each(["allow", "deny", "always", "never"])(
    "%s is a decision; always and never are remembered and audited",
    async (decision) => {
      const peer = await ferret(push, writable);
      const sessionId = await open(peer);
      const reply = message(peer, sessionId);
      const { params } = await peer.find((frame) => kindOf(frame) === "permission_request");
      expect((await peer.request("permission/respond", { sessionId, id: params.id, decision })).result).toEqual({
        ok: true,
      });
      await reply;
      const before = ofKinds(peer, sessionId, "permission_request").length;
      const second = message(peer, sessionId);
      const remembered = decision === "always" || decision === "never";
      if (remembered) await second;
      else {
        const asked = await peer.find(
          (frame) => kindOf(frame) === "permission_request" && frame.params.id !== params.id,
        );
        await peer.request("permission/respond", { sessionId, id: asked.params.id, decision: "deny" });
        await second;
      }
      expect(ofKinds(peer, sessionId, "permission_request")).toHaveLength(remembered ? before : before + 1);
      if (remembered) expect(auditOf(peer.program.home)).toContain(`"answer":"${decision}"`);
    },
  );
});

test("without a bridge the status says so", async () => {
  const peer = await nativePeer("ferret");
  const sessionId = await open(peer);
  expect((await peer.request("session/bridgeStatus", { sessionId })).result).toEqual({ attached: false });
});

describe("HTTP", () => {
  test("--http serves otter's surface, with a token of its own", async () => {
    const token = "a-ferret-secret";
    const server = await startServer([], { FERRET_SERVER_TOKEN: token }, { name: "ferret", token });
    expect((await server.ask("GET /sessions", { token: "wrong" })).status).toBe(401);
    expect((await server.ask("GET /info")).status).toBe(200);
    const { id, frames } = await server.run("list files");
    expect(id).toMatch(/^ferret-/);
    expect(frames.at(-1)).toEqual({ event: "end", data: { session_id: id, success: true } });
    expect((await server.ask(`GET /sessions/${id}`)).body.summary.success).toBe(true);
    expect((await server.ask("GET /openapi.json")).body.paths).toHaveProperty("/sessions/{id}/events");
  });

  test("one session is in an editor and over HTTP at the same time", async () => {
    const program = startProgram("ferret", ["serve", "--acp", "--http", "--port", "0"]);
    const peer = connect(program);
    const address = await addressOf(program);
    await peer.request("initialize", {});
    const sessionId = await open(peer);
    const posted = await fetch(`${address}/sessions/${sessionId}/turns`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: "list files" }),
    });
    expect(posted.status).toBe(202);
    await peer.find((frame) => kindOf(frame) === "turn_end");
    const events = await fetch(`${address}/sessions/${sessionId}/events`).then((response) => response.text());
    expect(events).toContain("event: agent_result");
    await message(peer, sessionId, "list files");
    const whole = (await (await fetch(`${address}/sessions/${sessionId}`)).json()) as { events: { type: string }[] };
    expect(whole.events.filter((event) => event.type === "agent_result")).toHaveLength(2);
  });
});

/** The command a document tells people to paste into their editor's settings. */
function documented(page: string, key: string): { command: string; args: string[]; env: Record<string, string> } {
  const text = readFileSync(join(repositoryRoot, "docs", page), "utf8");
  const blocks = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, block = ""]) => JSON.parse(block));
  const { ferret, Ferret = ferret } = blocks.find((block) => key in block)[key];
  // An IDE needs a whole path, which is another on every machine.
  return { ...Ferret, command: basename(Ferret.command) };
}

// With the client library that editors' extensions are built on, and the command found as a terminal would find it.
test.each([
  ["for Zed,", "zed.md", "agent_servers"],
  ["for VS Code,", "vscode.md", "acp.agents"],
  ["for JetBrains IDEs,", "jetbrains.md", "agent_servers"],
])("%s the entry of docs/%s drives ferret as written: text, a read, an edit, a question", async (_id, page, key) => {
  const { command, args, env } = documented(page, key);
  const turn = {
    steps: [
      { reply: [{ text: "So. " }, { call: "Read", args: { path: "README.md" } }] },
      { reply: [{ call: "Write", args: { path: "made.txt", content: "made\n" } }] },
      { reply: [{ call: "Bash", args: { command: "git init -q ." } }] },
      { reply: [{ text: "Done." }] },
    ],
  };
  const [cwd, home, bin] = [{ "README.md": "# A workspace\n" }, {}, {}].map((files) => scratchTree(files));
  const script = join(scratchTree({ "script.json": { turns: [turn] } }), "script.json");
  symlinkSync(join(repositoryRoot, "apps", command, "dist/cli.js"), join(bin!, command));
  const child = spawn(command, args, {
    cwd,
    env: { PATH: `${bin}${delimiter}${process.env["PATH"]}`, HOME: home, FERRET_MODEL: `scripted:${script}`, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const updates: sdk.SessionUpdate[] = [];
  const asked: string[] = [];
  const { agent } = sdk
    .client()
    .onRequest("session/request_permission", ({ params }) => {
      asked.push(params.toolCall.title ?? "");
      const { optionId = "" } = params.options.find((option) => option.kind === "reject_once") ?? {};
      return { outcome: { outcome: "selected" as const, optionId } };
    })
    .onNotification("session/update", ({ params }) => void updates.push(params.update))
    .connect(sdk.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>));
  const hello = await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  expect(hello.agentInfo?.name).toBe("ferret");
  const { sessionId } = await agent.request("session/new", { cwd: cwd!, mcpServers: [] });
  const { stopReason } = await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
  expect(stopReason).toBe("end_turn");
  expect(readFileSync(join(cwd!, "made.txt"), "utf8")).toBe("made\n");
  expect(asked).toEqual(["git init -q ."]);
  expect(existsSync(join(cwd!, ".git"))).toBe(false);
  const kinds = updates.map((update) => update.sessionUpdate);
  for (const kind of ["agent_message_chunk", "tool_call", "tool_call_update"]) expect(kinds).toContain(kind);
  expect(JSON.stringify(updates)).toContain('"type":"diff"');
  child.stdin.end();
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("as pasted, the documented entry of otter works as written", async () => {
  const editor = await startEditor({ name: "otter", command: ["acp"] });
  const { sessionId } = await editor.open();
  const { result, updates } = await editor.prompt(sessionId, "list files and read README");
  expect(result.stopReason).toBe("end_turn");
  expect(ofKind(updates, "agent_message_chunk").length).toBeGreaterThan(0);
});

function auditOf(home: string): string {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /audit/.test(join(entry.parentPath, entry.name)))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("");
}
