// Another program's ACP agent as the engine of a session, through the built programs.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as sdk from "@agentclientprotocol/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { launch } from "./clients/editor.js";
import { running, SCRIPTED, scriptedHome } from "./engine-rows.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, type SseFrame, startServer, until } from "./server.js";

const text = (frames: readonly SseFrame[]) =>
  frames.map(({ event, data }) => (event === "text_delta" ? data.metadata.text : "")).join("");

/** Prompts and returns the frames of that turn. */
async function say(server: Server, id: string, prompt: string): Promise<SseFrame[]> {
  const { body } = await server.ask(`GET /sessions/${id}`);
  await server.ask(`POST /sessions/${id}/turns`, { body: { prompt } });
  return since(server, id, body.event_count);
}

/** The records above a cursor, up to the end of the turn that runs. */
async function since(server: Server, id: string, cursor: number): Promise<SseFrame[]> {
  const headers = { "last-event-id": String(cursor) };
  return numbered(await server.all(`/sessions/${id}/events`, { headers }));
}

const numbered = (frames: readonly SseFrame[]) => frames.filter(({ id }) => id !== undefined);
/** How a turn ended, in its own words. */
const result = (frames: readonly SseFrame[]) => frames.findLast(({ event }) => event === "agent_result")?.data.metadata;

test("over HTTP it is prompted, streamed and undone, and what it did unasked is marked", async () => {
  const { home } = scriptedHome();
  const server = await startServer([], {}, { home });
  const { id, frames } = await server.run("say hello\nwrite made.txt by the engine\nunknown\nthink hm\nplan");
  expect(numbered(frames).map(({ id: seq }) => seq)).toEqual(numbered(frames).map((_frame, index) => index + 1));
  expect(text(frames)).toBe("hello");
  expect(frames.map(({ event }) => event)).toEqual(
    expect.arrayContaining(["options_changed", "tool_call", "tool_result", "vendor", "thought_delta", "plan", "usage"]),
  );
  expect(frames.find(({ event }) => event === "tool_result")?.data.metadata).toMatchObject({ unasked: true });
  const made = join(server.program.cwd, "made.txt");
  expect(readFileSync(made, "utf8")).toBe("by the engine");
  const { body } = await server.ask(`POST /sessions/${id}/undo`, { body: {} });
  expect(body).toMatchObject({ turns: 1, conflicts: [] });
  expect(existsSync(made)).toBe(false);
  // The choice of an engine is over with the first prompt, and nothing else of such a request is done.
  const late = await server.ask(`PATCH /sessions/${id}`, { body: { title: "Late", engine: "chimera" } });
  expect(late).toMatchObject({ status: 400, body: { error: "invalid_setting" } });
  expect((await server.ask(`GET /sessions/${id}/settings`)).body.title).not.toBe("Late");
  // Its own memory is of what was undone, so a new session of it receives what is left, which is nothing.
  expect(text(await say(server, id, "recall"))).toBe("");
});

test("an editor sees its settings, commands and answers as its own", async () => {
  const { home } = scriptedHome();
  const editor = launch("otter", { env: { CHIMERA_HOME: home } });
  onTestFinished(() => editor.dispose());
  const updates: sdk.SessionUpdate[] = [];
  const asked: sdk.PermissionOption[][] = [];
  const { agent } = sdk
    .client()
    .onRequest("session/request_permission", ({ params }) => {
      asked.push(params.options);
      return { outcome: { outcome: "selected", optionId: params.options.at(-2)!.optionId } };
    })
    .onNotification("session/update", ({ params }) => void updates.push(params.update))
    .connect(
      sdk.ndJsonStream(
        Writable.toWeb(editor.child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(editor.child.stdout) as ReadableStream<Uint8Array>,
      ) as never,
    );
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId, configOptions } = await agent.request("session/new", { cwd: editor.cwd, mcpServers: [] });
  expect(configOptions?.find(({ id }) => id === "engine")).toMatchObject({ currentValue: "scripted" });
  const prompt = (words: string) =>
    agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: words }] });
  await prompt("commands\npermission made.txt");

  const [names] = asked.map((options) => options.map(({ name }) => name));
  expect(names).toEqual(["Yes, once", "Yes, for this project", "Yes, for this user", "No"]);
  const said = updates.flatMap((update) =>
    update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
  );
  expect(said.join("")).toBe('{"outcome":"selected","optionId":"user"}');
  const commands = updates.findLast(({ sessionUpdate }) => sessionUpdate === "available_commands_update");
  expect((commands as { availableCommands?: { name: string }[] }).availableCommands?.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["undo", "review"]),
  );
  const options = updates.findLast(({ sessionUpdate }) => sessionUpdate === "config_option_update");
  const own = (options as { configOptions?: { id: string }[] }).configOptions?.filter(({ id }) =>
    id.startsWith("engine:"),
  );
  expect(own?.map(({ id }) => id)).toEqual(["engine:mode", "engine:thinking"]);
  await agent.request("session/set_config_option", { sessionId, configId: "engine:thinking", value: "high" });
  updates.length = 0;
  await prompt("recall");
  expect(JSON.stringify(updates)).toContain("thinking=high");
  // The choice of an engine is over with the first prompt.
  await expect(
    agent.request("session/set_config_option", { sessionId, configId: "engine", value: "chimera" }),
  ).rejects.toThrow(/cannot be changed/);

  const isAnswer = (problem: string) => problem.startsWith("no request has the id");
  expect(editor.problems().filter((problem) => !isAnswer(problem.replace(/^agent: /, "")))).toEqual([]);
});

test("two pages are asked what it asks, and the first answer counts", async () => {
  const { home } = scriptedHome();
  const server = await startServer([], {}, { home });
  const { body } = await server.ask("POST /sessions", { body: { prompt: "permission made.txt" } });
  const events = `/sessions/${body.session_id}/events`;
  const readers = [0, 1].map(() => until(server.frames(events), ({ event }) => event === "permission_request"));
  const [request] = (await Promise.all(readers)).map((frames) => frames.at(-1)?.data.metadata);
  expect(request.choices).toContainEqual({ id: "user", name: "Yes, for this user", kind: "allow_always" });
  await server.ask(`POST ${events.replace("events", "permissions")}/${request.permission_id}`, {
    body: { decision: "deny" },
  });
  expect(text(await server.all(events))).toBe('{"outcome":"selected","optionId":"no"}');
});

test("after kill -9 in a turn the cursor goes on, its orphan is ended, and undo takes the half-done turn back", {
  tags: ["needs-linux"],
}, async () => {
  // An engine that continues after its input ends, as some do until their command is done.
  const { home, state } = scriptedHome({ SCRIPTED_CAN: "resume,load,close,stays" });
  const first = await startServer([], {}, { home });
  const { cwd } = first.program;
  const { id } = await first.run("say one", { cwd });
  await first.ask(`POST /sessions/${id}/turns`, { body: { prompt: "write half.txt done\nrun 60000" } });
  const seen = await until(
    first.frames(`/sessions/${id}/events`),
    ({ data }) => data.type === "tool_call" && data.metadata.kind === "execute",
  );
  const orphans = running(state);
  expect(orphans).not.toEqual([]);
  first.program.child.kill("SIGKILL");
  await first.program.exited;

  const second = await startServer([], {}, { home, cwd });
  const cursor = seen.at(-1)?.id ?? 0;
  const rest = await since(second, id, cursor);
  expect(rest[0]?.id).toBe(cursor + 1);
  expect(rest.map(({ id: seq }) => seq)).toEqual(rest.map((_frame, index) => cursor + 1 + index));
  expect(result(rest)).toMatchObject({ success: false });
  const { body } = await second.ask(`POST /sessions/${id}/undo`, { body: {} });
  expect(body).toMatchObject({ turns: 1, conflicts: [] });
  expect(existsSync(join(cwd, "half.txt"))).toBe(false);
  const after = await say(second, id, "say again");
  expect(text(after)).toBe("again");
  expect(running(state).filter((pid) => orphans.includes(pid))).toEqual([]);
  expect(running(state)).toHaveLength(1);
});

test("a project's files cannot name an engine", async () => {
  const mark = join(scratchTree({}), "mark");
  const cwd = scratchTree({});
  const evil = { command: "/bin/sh", args: ["-c", `touch ${mark}`] };
  mkdirSync(join(cwd, ".chimera"));
  writeFileSync(
    join(cwd, ".chimera", "config.json"),
    JSON.stringify({ engine: "evil", engine_command: `touch ${mark}`, engines: { evil } }),
  );
  const server = await startServer(["--trust"], {}, { cwd });
  const { frames } = await server.run("hello", { cwd });
  expect(result(frames)).toMatchObject({ success: true });
  expect(existsSync(mark)).toBe(false);
});

test("its environment has what every command gets and what its row passes, and no token", async () => {
  const secrets = {
    OTTER_SERVER_TOKEN: "t0ken-of-the-server",
    CLAUDECODE: "1",
    CLAUDE_CODE_SESSION_ID: "s",
    OPENAI_API_KEY: "key",
    ANTHROPIC_API_KEY: "key",
  };
  const home = scratchTree({
    "config.json": {
      engine: "scripted",
      engines: { scripted: { command: process.execPath, args: [SCRIPTED], pass_env: ["OPENAI_API_KEY"] } },
    },
  });
  const server = await startServer([], secrets, { home, token: secrets.OTTER_SERVER_TOKEN });
  const { frames } = await server.run("env");
  const names = text(frames).split(",");
  expect(names).toEqual(expect.arrayContaining(["HOME", "PATH", "OPENAI_API_KEY"]));
  expect(names.filter((name) => /TOKEN|CLAUDE|ANTHROPIC|CHIMERA_HOME/.test(name))).toEqual([]);
});

test("a row with the name of a well-known agent changes only the keys that it has", async () => {
  const home = scratchTree({
    "config.json": { engine: "codex", engines: { codex: { command: process.execPath, args: [SCRIPTED] } } },
  });
  const server = await startServer([], { OPENAI_API_KEY: "key", ANTHROPIC_API_KEY: "key" }, { home });
  const { frames } = await server.run("env");
  const names = text(frames).split(",");
  expect(names).toContain("OPENAI_API_KEY");
  expect(names).not.toContain("ANTHROPIC_API_KEY");
});

test.each([
  ["codex", "engines", 0, /codex +no +Runs codex-acp/],
  ["codex", "config", 0, /"codex":"codex-acp"/],
  ["mine", "engines", 2, /config\.json: engines takes .*; the row "mine" is not valid/],
  ["mine", "config", 2, /config\.json: engines takes .*; the row "mine" is not valid/],
  ["mine", "doctor", 1, /config\.json: engines takes .*; the row "mine" is not valid/],
])("with a row %s without a command, otter %s exits with %i", async (name, command, code, said) => {
  const home = scratchTree({ "config.json": { engines: { [name]: { auth: "chatgpt" } } } });
  const { child, exited, stderr } = startProgram("otter", [command], {}, { home });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    stdout += chunk;
  });
  expect(await exited).toBe(code);
  expect(stdout + stderr()).toMatch(said);
});

test("a command that is not there ends the turn with its name, and the server stays", async () => {
  const server = await startServer(["--engine-command", "/nowhere/agent --acp"]);
  const { id, frames } = await server.run("hello");
  expect(result(frames)).toMatchObject({ success: false, error: expect.stringContaining("/nowhere/agent") });
  expect((await server.ask(`GET /sessions/${id}`)).status).toBe(200);
});

describe("ferret confines it", { tags: ["needs-sandbox", "needs-linux"] }, () => {
  /**
   * A home with the agent's program in it and its state where a secret of that agent would be. It lies where the sandbox shows it,
   * which /tmp is not, and a checkout may be in /tmp.
   */
  const confined = async (mode = "workspace-write") => {
    const place = mkdtempSync(join(process.getuid?.() === 0 ? "/srv" : homedir(), "ferret-engine-"));
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    for (const [path, words] of Object.entries({
      ".codex/auth.json": "its own",
      ".gemini/key": "another's",
      canary: "alive",
    })) {
      mkdirSync(join(place, path, ".."), { recursive: true });
      writeFileSync(join(place, path), words);
    }
    const program = join(place, basename(SCRIPTED));
    copyFileSync(SCRIPTED, program);
    const { home, state } = scriptedHome(
      { SCRIPTED_CAN: "resume,load,close,stays" },
      { state: join(place, ".codex"), program },
    );
    const server = await startServer(["--sandbox", mode], { HOME: place }, { name: "ferret", home });
    return { server, place, state };
  };

  test("it writes its workspace and its state, and nothing else; it reads its own login and no other", async () => {
    const { server, place, state } = await confined();
    const { id, frames } = await server.run(`write inside.txt x\nread ${state}/auth.json`);
    expect(text(frames)).toBe("its own");
    expect(readFileSync(join(server.program.cwd, "inside.txt"), "utf8")).toBe("x");
    expect(readFileSync(join(state, "prompts"), "utf8")).toContain("inside.txt");
    expect(text(await say(server, id, `read ${place}/.gemini/key`))).toMatch(/^E/);
    expect(result(await say(server, id, `write ${place}/canary dead`))).toMatchObject({ success: false });
    expect(readFileSync(join(place, "canary"), "utf8")).toBe("alive");
    await server.ask(`POST /sessions/${id}/undo`, { body: { steps: 3 } });
    expect(existsSync(join(server.program.cwd, "inside.txt"))).toBe(false);
  });

  test("it is gone when ferret was killed", async () => {
    const { server, state } = await confined();
    const { body } = await server.ask("POST /sessions", { body: { prompt: "run 60000" } });
    await until(server.frames(`/sessions/${body.session_id}/events`), ({ event }) => event === "tool_call");
    expect(running(state)).not.toEqual([]);
    server.program.child.kill("SIGKILL");
    await expect.poll(() => running(state), { timeout: 5000, interval: 20 }).toEqual([]);
  });

  test("a sandbox without a network refuses it, and says what to do", async () => {
    const { server, state } = await confined("read-only");
    const { frames } = await server.run("say hello");
    expect(result(frames)).toMatchObject({
      success: false,
      error: expect.stringMatching(/sandbox mode read-only, which has no network.*--sandbox workspace-write/),
    });
    expect(existsSync(join(state, "prompts"))).toBe(false);
  });
});
