// ACP among several nodes on one database: a client at any of them uses a session that another one has.
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { canStartPostgres, startPostgres, type TestDatabase, type TestServer } from "@chimera/store-postgres/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Editor, launch, textPrompt, updateKind } from "./clients/editor.js";
import { connect, type Frame, updatesOf } from "./peer.js";
import { fileScope, startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { type Server, startServer, until } from "./server.js";

const atEnd = fileScope();
let postgres: TestServer;
let database: TestDatabase;
let cwd: string;
let flags: string[];

const startNode = (): Promise<Server> => startServer(flags, {}, { cwd, atEnd });
const create = async (node: Server): Promise<string> => {
  const { body } = await node.ask("POST /sessions", { body: { prompt: "hello" } });
  await node.all(`/sessions/${body.session_id}/events`);
  return body.session_id;
};
const ownerOf = async (id: string) =>
  (await database.query("SELECT owner FROM chimera.session WHERE sid = $1", [id]))[0]?.["owner"];
const hello = (editor: Editor) => editor.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
/** A client whose sessions are those of its own process, a node like the servers. */
async function editorOf(...args: string[]): Promise<Editor> {
  const editor = launch("otter", { command: "serve", args: [...flags, ...args], cwd });
  onTestFinished(() => editor.dispose());
  await hello(editor);
  return editor;
}
/** A client of `/acp` at a server. */
async function clientOf(node: Server): Promise<Editor> {
  const client = launch("otter", { args: ["--connect", node.address], cwd });
  onTestFinished(() => client.dispose());
  await hello(client);
  return client;
}
async function addPerson(name: string, { url }: TestDatabase): Promise<string> {
  const command = [join(repositoryRoot, "apps/otter/dist/cli.js"), "token", "add", name, "--store", url];
  const env = { PATH: process.env["PATH"], HOME: cwd, CHIMERA_HOME: scratchTree({}, atEnd) };
  return (await promisify(execFile)(process.execPath, command, { cwd, env })).stdout.trim();
}
const isQuestion = ({ method }: Frame) => method === "session/request_permission";
const allowing = (frame: Frame) =>
  isQuestion(frame) ? { outcome: { outcome: "selected", optionId: "allow_once" } } : undefined;
const said = ({ frames }: Editor, kind: string): string =>
  frames.flatMap((frame) => (updateKind(frame) === kind ? [frame.params.update.content.text] : [])).join("");

beforeAll(async () => {
  if (!canStartPostgres(process.env)) return;
  postgres = await startPostgres(process.env);
  database = await postgres.database();
  const script = join(scratchTree({}, atEnd), "script.json");
  const steps = (...replies: object[]) => ({ steps: replies.map((reply) => ({ reply })) });
  const write = { call: "write_file", args: { path: "made.txt", content: "made\n" } };
  const slow = [{ text: "slowly ".repeat(200), chunks: 200, delayMs: 200 }];
  const turns = [steps([{ text: "quick" }]), steps([write], [{ text: "done" }]), steps(slow)];
  writeFileSync(script, JSON.stringify({ repeat: true, turns }));
  const store = `${database.url}?lease=3`;
  flags = ["--store", store, "--workspace-host", "one", "--model", `scripted:${script}`];
  flags.push("--session-hold", "600");
}, 60_000);
beforeEach(() => {
  cwd = scratchTree({ "README.md": "# A workspace\n" }, atEnd);
});
afterAll(async () => {
  await database?.drop();
  await postgres?.stop();
});

describe("a client of one node and a session of another", { tags: ["needs-postgres"], timeout: 60_000 }, () => {
  test.each([
    ["in an editor's own process", async () => editorOf()],
    ["of /acp at another server", async () => clientOf(await startNode())],
  ])("%s: it is loaded, prompted, asked about, set, undone, cancelled and deleted", async (_where, open) => {
    const owner = await startNode();
    const id = await create(owner);
    const node = await ownerOf(id);
    const editor = await open();
    const loaded = await editor.request("session/load", { sessionId: id, cwd, mcpServers: [] });
    expect(loaded).toMatchObject({ result: { modes: { currentModeId: "review" } } });
    expect([said(editor, "user_message_chunk"), said(editor, "agent_message_chunk")]).toEqual(["hello", "quick"]);

    editor.answer(allowing);
    const written = await editor.request("session/prompt", textPrompt(id, "write a file"));
    expect(written.result).toMatchObject({ stopReason: "end_turn" });
    expect(editor.frames.filter(isQuestion)).toHaveLength(1);
    expect(said(editor, "agent_message_chunk")).toBe("quickdone");
    // Its own prompt does not come back to it.
    expect(said(editor, "user_message_chunk")).toBe("hello");
    expect(existsSync(join(cwd, "made.txt"))).toBe(true);

    const option = { sessionId: id, configId: "mode", value: "read-only" };
    const { result } = await editor.request("session/set_config_option", option);
    expect(result.configOptions.find((one: { id: string }) => one.id === "mode").currentValue).toBe("read-only");
    expect(await editor.request("session/set_mode", { sessionId: id, modeId: "review" })).toMatchObject({ result: {} });
    const wrong = await editor.request("session/set_mode", { sessionId: id, modeId: "nonsense" });
    expect(wrong.error?.code).toBe(-32602);
    const named = await editor.request("session/set_title", { sessionId: id, title: "from afar" });
    expect(named.result).toEqual({ title: "from afar" });
    expect((await owner.ask(`GET /sessions/${id}`)).body).toMatchObject({ summary: { title: "from afar" } });

    const slow = editor.start("session/prompt", textPrompt(id, "take your time"));
    await editor.find((frame) => frame.params?.update?.content?.text?.startsWith("slowly"));
    editor.notify("session/cancel", { sessionId: id });
    expect((await slow.answer).result).toMatchObject({ stopReason: "cancelled" });
    const undone = await editor.request("_chimera.dev/session/undo", { sessionId: id, steps: 2 });
    expect(undone.result).toMatchObject({ turns: 2, files: [expect.anything()] });
    expect(existsSync(join(cwd, "made.txt"))).toBe(false);
    const { events } = (await owner.ask(`GET /sessions/${id}`)).body;
    expect(events.filter(({ type }: { type: string }) => type === "user_message")).toHaveLength(3);
    expect(editor.problems()).toEqual([]);
    // All of it was done where the session is.
    expect(await ownerOf(id)).toBe(node);
    expect(await editor.request("session/delete", { sessionId: id })).toMatchObject({ result: {} });
    expect((await owner.ask(`GET /sessions/${id}`)).status).toBe(404);
  });

  test("a turn that the owner was sent is shown, and its question is asked; the first answer counts", async () => {
    const owner = await startNode();
    const id = await create(owner);
    const editor = await editorOf();
    await editor.request("session/resume", { sessionId: id, cwd });
    await owner.ask(`POST /sessions/${id}/turns`, { body: { prompt: "write a file" } });
    const asked = await editor.find(isQuestion);
    await editor.find((frame) => updateKind(frame) === "user_message_chunk");
    const seen = await until(owner.frames(`/sessions/${id}/events`), ({ event }) => event === "permission_request");
    const { permission_id } = seen.at(-1)?.data.metadata ?? {};
    const answer = { body: { decision: "deny" } };
    expect((await owner.ask(`POST /sessions/${id}/permissions/${permission_id}`, answer)).status).toBe(200);
    const withdrawn = await editor.find((frame) => frame.method === "$/cancel_request");
    expect(withdrawn.params).toEqual({ requestId: asked.id });
    await editor.find((frame) => frame.params?.update?.content?.text === "done");
    expect(editor.problems()).toEqual([]);
  });

  test("when the owner dies, a prompt is answered, and the next one is run by a node that lives", async () => {
    const owner = await startNode();
    const id = await create(owner);
    const editor = await editorOf();
    await editor.request("session/load", { sessionId: id, cwd, mcpServers: [] });
    const waiting = editor.start("session/prompt", textPrompt(id, "write a file"));
    await editor.find(isQuestion);
    owner.program.child.kill("SIGKILL");
    expect((await waiting.answer).error?.message).toMatch(/the process ended before the turn did/);
    editor.answer(allowing);
    const again = editor.start("session/prompt", textPrompt(id, "go on"));
    await editor.find((frame) => frame.params?.update?.content?.text?.startsWith("slowly"));
    editor.notify("session/cancel", { sessionId: id });
    expect((await again.answer).result).toMatchObject({ stopReason: "cancelled" });
  });

  test("a session of an editor's process is prompted and cancelled from a server, over HTTP and ACP", async () => {
    const editor = await editorOf();
    const { sessionId: id } = (await editor.request("session/new", { cwd, mcpServers: [] })).result;
    await editor.request("session/prompt", textPrompt(id, "hello"));
    const server = await startNode();
    editor.answer(allowing);
    const { status } = await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "write a file" } });
    expect(status).toBe(202);
    await editor.find((frame) => frame.params?.update?.content?.text === "done");
    const client = await clientOf(server);
    await client.request("session/load", { sessionId: id, cwd, mcpServers: [] });
    const slow = client.start("session/prompt", textPrompt(id, "take your time"));
    await client.find((frame) => frame.params?.update?.content?.text?.startsWith("slowly"));
    expect((await server.ask(`POST /sessions/${id}/cancel`)).status).toBe(204);
    expect((await slow.answer).result).toMatchObject({ stopReason: "cancelled" });
  });

  test("a session that was let go and taken up by another node still asks its editor", async () => {
    const editor = await editorOf("--session-hold", "0.2");
    const { sessionId: id } = (await editor.request("session/new", { cwd, mcpServers: [] })).result;
    await editor.request("session/prompt", textPrompt(id, "hello"));
    await expect.poll(() => ownerOf(id), { timeout: 20_000 }).toBeNull();
    const server = await startNode();
    editor.answer(allowing);
    expect((await server.ask(`POST /sessions/${id}/turns`, { body: { prompt: "write a file" } })).status).toBe(202);
    const frames = await server.all(`/sessions/${id}/events`);
    expect(frames.filter(({ event }) => event === "permission_resolved")[0]?.data.metadata.decision).toBe("allow");
    await editor.find((frame) => frame.params?.update?.content?.text === "done");
    expect(existsSync(join(cwd, "made.txt"))).toBe(true);
  });

  test("people see and use what is theirs at any node, and are named there", async () => {
    // A list of people counts for every server of a database.
    const own = await postgres.database();
    onTestFinished(() => own.drop());
    const among = ["--store", own.url, ...flags.slice(2)];
    const folder = scratchTree({}, atEnd);
    const env = { OTTER_SERVER_TOKEN: "master-token-of-the-cluster" };
    const given = { cwd, atEnd, token: env.OTTER_SERVER_TOKEN };
    const [owner, other] = await Promise.all([startServer(among, env, given), startServer(among, env, given)]);
    const tokens = { ann: await addPerson("ann", own), bob: await addPerson("bob", own) };
    const asked = () =>
      [owner, other].flatMap((node) => Object.values(tokens).map((token) => node.ask("GET /me", { token })));
    const statuses = async () => (await Promise.all(asked())).map(({ status }) => status);
    await expect.poll(statuses, { timeout: 20_000 }).toEqual([200, 200, 200, 200]);
    const { body } = await owner.ask("POST /sessions", { token: tokens.ann, body: { prompt: "hello" } });
    const id = body.session_id;
    await owner.all(`/sessions/${id}/events`);
    const clientAs = async (name: keyof typeof tokens) => {
      const token = join(folder, name);
      writeFileSync(token, tokens[name], { mode: 0o600 });
      const client = launch("otter", { args: ["--connect", other.address, "--token-file", token], cwd });
      onTestFinished(() => client.dispose());
      await hello(client);
      return client;
    };
    const ann = await clientAs("ann");
    ann.answer(allowing);
    expect((await ann.request("session/prompt", textPrompt(id, "write"))).result).toMatchObject({
      stopReason: "end_turn",
    });
    const { events } = (await owner.ask(`GET /sessions/${id}`)).body;
    const named = events.filter(({ type }: { type: string }) => /^(user_message|permission_resolved)$/.test(type));
    expect(named.slice(1).map(({ origin }: { origin?: string }) => origin)).toEqual(["ann", "ann"]);
    const bob = await clientAs("bob");
    for (const method of ["session/load", "session/resume"])
      expect((await bob.request(method, { sessionId: id, cwd, mcpServers: [] })).error?.code).toBe(-32002);
    expect((await bob.request("session/prompt", textPrompt(id, "mine?"))).error?.code).toBe(-32002);
  });

  test("the native dialect does the same", async () => {
    const owner = await startNode();
    const id = await create(owner);
    const node = await ownerOf(id);
    const native = connect(startProgram("otter", ["serve", "--acp", ...flags], {}, { cwd }));
    await native.request("initialize", {});
    expect((await native.request("session/load", { sessionId: id })).result).toMatchObject({ state: "idle", cwd });
    const asking = native.request("session/message", { sessionId: id, message: "write a file" });
    const asked = await native.find(({ params }) => params?.update?.sessionUpdate === "permission_request");
    const { requestId } = asked.params.update;
    const answered = await native.request("permission/respond", { requestId, reply: "allow" });
    expect(answered.result).toEqual({ ok: true });
    expect((await asking).result).toMatchObject({ sessionId: id, stopReason: "end_turn", output: "done" });
    expect(updatesOf(native, id).length).toBeGreaterThan(0);
    expect((await native.request("session/setModel", { sessionId: id, model: "offline" })).result).toBeDefined();
    expect((await native.request("session/get", { sessionId: id })).result.summary).toMatchObject({ model: "offline" });
    expect(await ownerOf(id)).toBe(node);
  });
});
