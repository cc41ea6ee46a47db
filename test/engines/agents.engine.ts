// Real agents as engines of the built otter: how they write, run, ask and forget, and the state after two kinds of crashes.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Editor, launch, openSession, textPrompt, updateKind } from "../clients/editor.js";
import { type AtEnd, fileScope } from "../program.js";
import { scratchTree } from "../scratch.js";
import { type Server, type SseFrame, startServer, until } from "../server.js";
import { AGENTS, agentPath, commandOf, installAgents, type RealAgent } from "./agents.js";
import { type Model, order, startModel } from "./model.js";

beforeAll(installAgents);

const chosen = AGENTS.filter(({ name }) => (process.env["ENGINES"] ?? name).split(",").includes(name));

describe.each(chosen)("$name", (agent) => {
  const atEnd = fileScope();
  let model: Model;
  let cwd: string;
  let home: string;
  /** The agent's own home. */
  let own: string;
  let env: Record<string, string>;
  let server: Server;

  beforeAll(async () => {
    cwd = realpathSync(scratchTree({ "README.md": "# A workspace\n" }, atEnd));
    model = await startModel(agent.tools, cwd, atEnd);
    ({ home, own } = placeOf(agent, { cwd, url: model.url, atEnd }));
    env = { HOME: own };
    server = await startServer([], env, { home, cwd, atEnd });
  });

  const from = async (cursor: number, id: string, fits: (frame: SseFrame) => boolean = isEnd, at = server) =>
    until(at.frames(`/sessions/${id}/events?until=never`, { headers: { "last-event-id": String(cursor) } }), fits);
  /** A turn in a new session, or in the one given. */
  const say = async (what: string, { id, at = server }: { id?: string; at?: Server } = {}) => {
    const prompt = order(what);
    if (id === undefined) {
      const { body } = await at.ask("POST /sessions", { body: { prompt, mode: "auto", cwd } });
      return { id: body.session_id as string, frames: await from(0, body.session_id, isEnd, at) };
    }
    const { body } = await at.ask(`GET /sessions/${id}`);
    await at.ask(`POST /sessions/${id}/turns`, { body: { prompt } });
    return { id, frames: await from(body.event_count, id, isEnd, at) };
  };
  /** Has it ask for something, and answers. */
  const answered = async (what: string, decision: string, at = server) => {
    const { body } = await at.ask("POST /sessions", { body: { prompt: order(what), mode: "review", cwd } });
    const id = body.session_id as string;
    const seen = await from(0, id, (frame) => frame.event === "permission_request" || isEnd(frame), at);
    const request = seen.at(-1)!;
    expect(request.event, explain(seen)).toBe("permission_request");
    expect(request.data.metadata.choices.length).toBeGreaterThan(1);
    const path = `/sessions/${id}/permissions/${request.data.metadata.permission_id}`;
    expect((await at.ask(`POST ${path}`, { body: { decision } })).status).toBe(200);
    return from(request.id!, id, isEnd, at);
  };
  const undo = async (id: string, steps = 1) =>
    (await server.ask(`POST /sessions/${id}/undo`, { body: { steps } })).body;
  const there = (name: string) => existsSync(join(cwd, name));

  test("writes a file, runs a command, and both are undone", async () => {
    const { id, frames } = await say("write made.txt hello there");
    expect(result(frames), explain(frames)).toMatchObject({ success: true });
    expect(readFileSync(join(cwd, "made.txt"), "utf8").trim()).toBe("hello there");
    expect(frames.map(({ event }) => event)).toEqual(expect.arrayContaining(["tool_call", "tool_result", "usage"]));
    const ran = await say("shell echo printed; echo made > shell.txt", { id });
    expect(result(ran.frames), explain(ran.frames)).toMatchObject({ success: true });
    expect(there("shell.txt")).toBe(true);
    // A person's edit between the turns belongs to no turn.
    writeFileSync(join(cwd, "mine.txt"), "mine");
    expect(await undo(id, 2)).toMatchObject({ turns: 2, conflicts: [] });
    expect(["made.txt", "shell.txt", "mine.txt"].map(there)).toEqual([false, false, true]);
  });

  test("asks, is refused, asks again and is allowed", async () => {
    await answered("write refused.txt x", "deny");
    expect(there("refused.txt")).toBe(false);
    await answered("write allowed.txt x", "allow");
    expect(there("allowed.txt")).toBe(true);
  });

  test("in ferret's sandbox, with the network on: writes, runs, asks, reaches nothing outside, and is undone", async () => {
    // The sandbox hides the temporary directory, and with it a home that lies there.
    const open = process.getuid?.() === 0 ? "/srv" : homedir();
    const [inside, outside] = ["ferret-agent-", "ferret-outside-"].map((name) => {
      const made = mkdtempSync(join(open, name));
      onTestFinished(() => rmSync(made, { recursive: true, force: true }));
      return made;
    }) as [string, string];
    const place = placeOf(agent, { cwd, url: model.url, atEnd: onTestFinished, own: inside });
    const at = await startServer(
      ["--sandbox", "workspace-write", "--approval", "full"],
      { HOME: inside },
      { name: "ferret", home: place.home, cwd },
    );
    const { id, frames } = await say("write confined.txt hello", { at });
    expect(result(frames), explain(frames)).toMatchObject({ success: true });
    expect(there("confined.txt"), explain(frames)).toBe(true);
    await say(`shell echo ran > confined-shell.txt; echo x > ${outside}/file`, { id, at });
    expect(there("confined-shell.txt")).toBe(true);
    expect(readdirSync(outside)).toEqual([]);
    expect((await at.ask(`POST /sessions/${id}/undo`, { body: { steps: 2 } })).body).toMatchObject({ conflicts: [] });
    expect(["confined.txt", "confined-shell.txt"].map(there)).toEqual([false, false]);
    await answered("write confined-refused.txt x", "deny", at);
    expect(there("confined-refused.txt")).toBe(false);
    await answered("write confined-allowed.txt x", "allow", at);
    expect(there("confined-allowed.txt")).toBe(true);
  });

  test("stops when it is cancelled", async () => {
    const { body } = await server.ask("POST /sessions", { body: { prompt: order("talk 2000"), mode: "auto", cwd } });
    const id = body.session_id as string;
    await from(0, id, ({ event }) => event === "text_delta");
    await server.ask(`POST /sessions/${id}/cancel`);
    const frames = await from(0, id);
    expect(frames.at(-1)?.event).toBe("cancelled");
    const { frames: next } = await say("say still here", { id });
    expect(text(next), explain(next)).toContain("still here");
  });

  test("killed in a turn, it ends the turn, and knows the conversation in the next", async () => {
    const { id } = await say("say the word is heron");
    await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: order("talk 2000") } });
    await from(0, id, ({ event, data }) => event === "text_delta" && data.turn === 1);
    for (const pid of processesOf(own)) process.kill(pid, "SIGKILL");
    const frames = await from(0, id, ({ event, data }) => event === "agent_result" && data.turn === 1);
    expect(result(frames)).toMatchObject({ success: false });
    const { frames: next } = await say("recall heron", { id });
    expect(text(next), explain(next)).toContain("I remember.");
    expect(
      next.some(({ event, data }) => event === "notice" && /conversation so far as text/.test(data.metadata.text)),
    ).toBe(agent.resumes === "from text");
  });

  test("an editor and a page on one session: each sees the other's turn", async () => {
    const editor: Editor = launch("otter", {
      command: "serve",
      args: ["--http", "--port", "0"],
      env: { ...env, CHIMERA_HOME: home },
      cwd,
      home,
    });
    onTestFinished(() => editor.dispose());
    const sessionId = await openSession(editor);
    await editor.request("session/set_mode", { sessionId, modeId: "auto" });
    await editor.request("session/prompt", textPrompt(sessionId, order("say from the editor")));
    await expect.poll(() => editor.stderr(), { timeout: 10_000 }).toMatch(/http:\S+/);
    const address = /http:\/\/\S+/.exec(editor.stderr())![0];
    await fetch(`${address}/sessions/${sessionId}/turns`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: order("say from the page") }),
    });
    await editor.find((frame) => updateKind(frame) === "user_message_chunk");
    const page = await (await fetch(`${address}/sessions/${sessionId}/events`)).text();
    for (const words of ["from the editor", "from the page"]) expect(page).toContain(words);
    expect(editor.problems()).toEqual([]);
  });

  test("otter killed in a turn: the cursor goes on, the engine knows the conversation, undo takes the half turn back", async () => {
    const { id } = await say("say the word is egret");
    await server.ask(`POST /sessions/${id}/turns`, {
      body: { prompt: order("shell echo half > half.txt; echo begun; sleep 30; echo x > late.txt") },
    });
    const seen = await from(0, id, ({ event, data }) => event === "tool_call" && data.turn === 1);
    await expect.poll(() => there("half.txt"), { timeout: 20_000 }).toBe(true);
    server.program.child.kill("SIGKILL");
    await server.program.exited;
    server = await startServer([], env, { home, cwd, atEnd });
    const cursor = seen.at(-1)!.id!;
    const rest = await from(cursor, id);
    expect(rest.map((frame) => frame.id)).toEqual(rest.map((_frame, index) => cursor + 1 + index));
    expect(result(rest)).toMatchObject({ success: false });
    expect(await undo(id)).toMatchObject({ turns: 1, conflicts: [] });
    expect(there("half.txt")).toBe(false);
    const { frames } = await say("recall egret", { id });
    expect(text(frames), explain(frames)).toContain("I remember.");
    expect(there("late.txt")).toBe(false);
  });
});

// --- internal ---

const isEnd = ({ event }: SseFrame) => event === "agent_result" || event === "cancelled";
const result = (frames: readonly SseFrame[]) => frames.findLast(({ event }) => event === "agent_result")?.data.metadata;
const text = (frames: readonly SseFrame[]) =>
  frames.map(({ event, data }) => (event === "text_delta" ? data.metadata.text : "")).join("");
const explain = (frames: readonly SseFrame[]) =>
  frames.map(({ event, data }) => `${event} ${JSON.stringify(data.metadata)?.slice(0, 400)}`).join("\n");

/** A home of otter's whose engine is the agent, and the agent's own home beside it. */
function placeOf(
  agent: RealAgent,
  { cwd, url, atEnd, own = scratchTree({}, atEnd) }: { cwd: string; url: string; atEnd: AtEnd; own?: string },
) {
  const { files, env } = agent.setUp({ home: own, url, cwd });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(own, path)), { recursive: true });
    writeFileSync(join(own, path), typeof content === "string" ? content : JSON.stringify(content));
  }
  const [command, ...args] = commandOf(agent);
  const row = {
    command,
    args,
    env: { ...env, HOME: own, PATH: agentPath(), NO_PROXY: "127.0.0.1", ENGINE_HOME: own },
    state: own,
    ...(agent.auth && { auth: agent.auth }),
  };
  const home = scratchTree({ "config.json": { engine: agent.name, engines: { [agent.name]: row } } }, atEnd);
  return { home, own };
}

/** Everything that the engine started, itself included. */
function processesOf(own: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      const isIts = readFileSync(`/proc/${name}/environ`, "utf8").includes(`ENGINE_HOME=${own}`);
      return isIts ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
