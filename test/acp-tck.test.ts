// The requirements of the public ACP test kit for a v1 agent against the built programs, each test with the ids that it covers.
// M mandatory, C where the capability is advertised, A advisory, I recorded only.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Editor, launch, openSession, textPrompt, updateKind } from "./clients/editor.js";
import type { Frame } from "./peer.js";

const quiet = () => new Promise((resolve) => setTimeout(resolve, 150));

/** Turn after turn: a plain answer, then one that takes its time. */
const script = {
  repeat: true,
  turns: [
    {
      steps: [
        { reply: [{ thought: "Hm." }, { text: "A plain answer.", chunks: 3 }, { usage: { input: 10, output: 5 } }] },
      ],
    },
  ],
};
const slow = {
  repeat: true,
  turns: [{ steps: [{ reply: [{ text: "word ".repeat(400), chunks: 400, delayMs: 20 }] }] }],
};

/** The numbers of the kit's requirements, by group. */
const REQUIREMENTS = `
  JSONRPC 1 2 3 4 5, INIT 1 2 3 4, SESSION 1 2, PROMPT 1 2 3, CANCEL 1 2, LOAD 1 2 3, RESUME 1 2, LIST 1 2, DELETE 1 2, CLOSE 1 2, ADDDIRS 1,
  MODES 1 2, CONFIG 1 2 3, PROMPTCAP 1 3, AUTH 1 2 3 4 5, EXT 1, META 1, ERROR 1, CLIENTCAP 1 2 3, INFO-UNKNOWNSESSION 1, TRANSPORT 1 2,
  SCHEMA 1 2, INFO-PARSE 1, INFO-INVALIDREQ 1, SHUTDOWN 1, STDERR 1`
  .trim()
  .split(/,\s+/)
  .flatMap((row) => {
    const [group, ...numbers] = row.split(" ");
    return numbers.map((number) => `${group}-${number.padStart(3, "0")}`);
  });

/** The ids whose test has passed with the program that is tested now. */
let passed: string[] = [];

/** A test of the requirements with these ids. */
const kit = (ids: string, title: string, run: () => void | Promise<void>): void =>
  test(title, async () => {
    await run();
    passed.push(...ids.replace(/ \(.*/, "").split(", "));
  });

const updatesFor = (editor: Editor, sessionId: string) =>
  editor.frames.filter((frame) => frame.method === "session/update" && frame.params.sessionId === sessionId);

describe.each(["otter", "ferret"] as const)("%s", (program) => {
  let editor: Editor;
  let hello: Frame;
  let sessionId: string;
  const newSession = async (params: object = {}): Promise<string> =>
    (await editor.request("session/new", { cwd: editor.cwd, mcpServers: [], ...params })).result.sessionId;
  const prompt = (text: string, id = sessionId) => editor.request("session/prompt", textPrompt(id, text));

  beforeAll(async () => {
    passed = [];
    editor = launch(program, { script });
    hello = await editor.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    sessionId = await newSession();
  });
  afterAll(() => editor.dispose());

  kit("JSONRPC-001 (M)", "integer and string ids come back exactly", async () => {
    for (const id of [90_001, "a string", "90001", 0, -5]) {
      editor.send(JSON.stringify({ jsonrpc: "2.0", id, method: "session/list", params: {} }));
      expect((await editor.find((frame) => frame.id === id && frame.method === undefined)).id).toBe(id);
    }
  });

  kit("JSONRPC-002 (M)", "a response has one of result and error, an error an integer and a string", async () => {
    const answers = [await editor.request("session/list", {}), await editor.request("session/load", { sessionId: 7 })];
    for (const answer of answers) expect("result" in answer).not.toBe("error" in answer);
    expect(answers[1]?.error).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
  });

  kit("JSONRPC-003 (M)", "a notification never gets a response", async () => {
    const before = editor.frames.length;
    editor.notify("session/cancel", { sessionId });
    editor.notify("no/such/thing", {});
    editor.notify("session/list", {});
    await quiet();
    expect(editor.frames).toHaveLength(before);
  });

  kit("JSONRPC-004, JSONRPC-005 (A)", "an unknown method is -32601 and the connection stays usable", async () => {
    expect((await editor.request("no/such/thing", {})).error?.code).toBe(-32601);
    expect((await editor.request("session/list", {})).result).toBeDefined();
  });

  kit("INIT-001, INIT-002 (M)", "asked 1, answers 1", () => {
    expect(hello.result.protocolVersion).toBe(1);
  });

  kit("INIT-003 (M)", "asked 65535, answers a version it has", async () => {
    const other = launch(program);
    const info = { name: "tck", version: "1" };
    const { result } = await other.request("initialize", { protocolVersion: 65535, clientCapabilities: {}, info });
    await other.dispose();
    expect(result.protocolVersion).toBe(1);
  });

  kit("INIT-004 (A)", "agentInfo has name and version", () => {
    expect(hello.result.agentInfo).toMatchObject({ name: program, version: expect.stringMatching(/^\d+\.\d+/) });
  });

  kit("SESSION-001, SESSION-002 (M)", "two sessions have two ids", async () => {
    const ids = [await newSession(), await newSession()];
    expect(new Set(ids.filter((id) => id.length > 0)).size).toBe(2);
  });

  kit("PROMPT-001, PROMPT-002 (M)", "a prompt ends with a stop reason; updates carry the session's id", async () => {
    const before = editor.frames.length;
    const { result } = await prompt("hello");
    expect(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]).toContain(result.stopReason);
    const updates = editor.frames.slice(before).filter((frame) => frame.method === "session/update");
    expect(updates.length).toBeGreaterThan(1);
    for (const frame of updates) expect(frame.params.sessionId).toBe(sessionId);
  });

  kit("PROMPT-003 (A)", "a resource_link beside text is accepted", async () => {
    const link = { type: "resource_link", name: "README", uri: `file://${editor.cwd}/README.md` };
    const params = { sessionId, prompt: [{ type: "text", text: "see" }, link] };
    expect((await editor.request("session/prompt", params)).result.stopReason).toBe("end_turn");
  });

  kit("CANCEL-001, CANCEL-002 (M)", "a cancel in flight ends as cancelled, and nothing follows", async () => {
    const other = launch(program, { script: slow });
    const id = await openSession(other);
    const { answer } = other.start("session/prompt", textPrompt(id, "talk"));
    await other.find((frame) => updateKind(frame) === "agent_message_chunk");
    other.notify("session/cancel", { sessionId: id });
    expect((await answer).result.stopReason).toBe("cancelled");
    const seen = other.frames.length;
    await quiet();
    expect(other.frames).toHaveLength(seen);
    expect(other.problems()).toEqual([]);
    await other.dispose();
  });

  kit(
    "LOAD-001, LOAD-002, LOAD-003 (C)",
    "load replays before it answers, nothing after, and answers an object",
    async () => {
      const id = await newSession();
      await prompt("hello", id);
      const before = updatesFor(editor, id).length;
      const loaded = await editor.request("session/load", { sessionId: id, cwd: editor.cwd, mcpServers: [] });
      const replayed = updatesFor(editor, id).slice(before).map(updateKind);
      expect(replayed).toEqual(
        expect.arrayContaining(["user_message_chunk", "agent_thought_chunk", "agent_message_chunk"]),
      );
      expect(loaded.result).toBeTypeOf("object");
      const seen = editor.frames.length;
      await quiet();
      expect(editor.frames).toHaveLength(seen);
    },
  );

  kit("RESUME-001, RESUME-002 (C)", "resume works without mcpServers and replays nothing", async () => {
    const id = await newSession();
    await prompt("hello", id);
    const before = updatesFor(editor, id).length;
    const resumed = await editor.request("session/resume", { sessionId: id, cwd: editor.cwd });
    expect(resumed.result).toBeTypeOf("object");
    await quiet();
    // The commands follow the answer; the history never does.
    const [listing, ...more] = updatesFor(editor, id).slice(before);
    expect(more).toEqual([]);
    expect(updateKind(listing!)).toBe("available_commands_update");
    expect(editor.frames.indexOf(listing!)).toBeGreaterThan(editor.frames.indexOf(resumed));
  });

  kit("LIST-001, LIST-002 (C)", "list gives an array, an unused cwd an empty one", async () => {
    expect((await editor.request("session/list", {})).result.sessions).toBeInstanceOf(Array);
    expect((await editor.request("session/list", { cwd: "/nowhere/at/all" })).result.sessions).toEqual([]);
  });

  kit("DELETE-001, DELETE-002 (C, A)", "delete gives an empty object, again and for unknown ids", async () => {
    const id = await newSession();
    for (const target of [id, id, "unknown"]) {
      expect((await editor.request("session/delete", { sessionId: target })).result).toEqual({});
    }
  });

  kit("CLOSE-001 (C)", "close of an idle session gives an empty object", async () => {
    expect((await editor.request("session/close", { sessionId: await newSession() })).result).toEqual({});
  });

  kit("CLOSE-002 (C)", "close in flight ends the prompt as cancelled", async () => {
    const other = launch(program, { script: slow });
    const id = await openSession(other);
    const { answer } = other.start("session/prompt", textPrompt(id, "talk"));
    await other.find((frame) => updateKind(frame) === "agent_message_chunk");
    expect((await other.request("session/close", { sessionId: id })).result).toEqual({});
    expect((await answer).result.stopReason).toBe("cancelled");
    await other.dispose();
  });

  kit("ADDDIRS-001 (C)", "an absolute additional directory is accepted", async () => {
    expect(hello.result.agentCapabilities.sessionCapabilities.additionalDirectories).toEqual({});
    expect(await newSession({ additionalDirectories: [editor.home] })).toBeTypeOf("string");
  });

  kit("MODES-001, MODES-002 (C)", "the current mode is one of them; set_mode works and is announced", async () => {
    const { result } = await editor.request("session/new", { cwd: editor.cwd, mcpServers: [] });
    const modes = result.modes.availableModes.map((mode: { id: string }) => mode.id);
    expect(modes).toContain(result.modes.currentModeId);
    // ferret's default preset leaves one.
    const modeId = modes.find((id: string) => id !== result.modes.currentModeId) ?? result.modes.currentModeId;
    expect((await editor.request("session/set_mode", { sessionId: result.sessionId, modeId })).result).toEqual({});
    const told = await editor.find(
      (frame) => updateKind(frame) === "current_mode_update" && frame.params.sessionId === result.sessionId,
    );
    expect(told.params.update.currentModeId).toBe(modeId);
  });

  kit("CONFIG-001, CONFIG-002 (C)", "values fit; a change is answered with the complete list", async () => {
    const { result } = await editor.request("session/new", { cwd: editor.cwd, mcpServers: [] });
    const values = (option: { options: { value: string }[] }) => option.options.map(({ value }) => value);
    for (const option of result.configOptions) expect(values(option)).toContain(option.currentValue);
    const agent = result.configOptions.find((option: { id: string }) => option.id === "agent");
    const value = values(agent).find((one) => one !== agent.currentValue);
    const params = { sessionId: result.sessionId, configId: "agent", value };
    const changed = (await editor.request("session/set_config_option", params)).result.configOptions;
    expect(changed.map((option: { id: string }) => option.id)).toEqual(
      result.configOptions.map((option: { id: string }) => option.id),
    );
    expect(changed.find((option: { id: string }) => option.id === "agent").currentValue).toBe(value);
  });

  kit("CONFIG-003 (M)", "no boolean option unless the client allows it", async () => {
    const { result } = await editor.request("session/new", { cwd: editor.cwd, mcpServers: [] });
    expect(result.configOptions.map((option: { type: string }) => option.type)).not.toContain("boolean");
  });

  kit(
    "PROMPTCAP-001, PROMPTCAP-003 (C)",
    "a picture and an embedded resource are accepted; audio is not advertised",
    async () => {
      expect(hello.result.agentCapabilities.promptCapabilities).toEqual({
        image: true,
        audio: false,
        embeddedContext: true,
      });
      const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
      for (const block of [
        { type: "image", data: png, mimeType: "image/png" },
        { type: "resource", resource: { uri: "file:///x.txt", text: "content" } },
      ]) {
        const params = { sessionId, prompt: [{ type: "text", text: "look" }, block] };
        expect((await editor.request("session/prompt", params)).result.stopReason).toBe("end_turn");
      }
    },
  );

  kit("AUTH-001, AUTH-002 (A, M)", "method ids are unique and none needs a terminal", () => {
    const methods = hello.result.authMethods as { id: string; type?: string }[];
    expect(new Set(methods.map(({ id }) => id)).size).toBe(methods.length);
    expect(methods.map(({ type }) => type)).not.toContain("terminal");
  });

  kit(
    "AUTH-003, AUTH-004, AUTH-005 (C, A)",
    "authenticate and logout answer objects, and no session asks to log in",
    async () => {
      const methodId = hello.result.authMethods[0].id;
      expect((await editor.request("authenticate", { methodId })).result).toBeTypeOf("object");
      expect((await editor.request("session/new", { cwd: editor.cwd, mcpServers: [] })).error).toBeUndefined();
      expect((await editor.request("logout", {})).result).toBeTypeOf("object");
    },
  );

  kit("EXT-001 (M)", "an unknown _ request gets a response", async () => {
    expect((await editor.request("_tck.example/unknown", { a: 1 })).error?.code).toBe(-32601);
  });

  kit("META-001 (A)", "_meta on a prompt is accepted", async () => {
    const params = { ...textPrompt(sessionId, "hello"), _meta: { traceparent: "00-0-0-00" } };
    expect((await editor.request("session/prompt", params)).result.stopReason).toBe("end_turn");
  });

  kit("ERROR-001 (A)", "error messages are one line that is not empty", () => {
    const messages = editor.frames.flatMap((frame) => (frame.error ? [frame.error.message] : []));
    expect(messages.length).toBeGreaterThan(2);
    for (const message of messages) expect(message).toMatch(/^[^\n]+$/);
  });

  kit("CLIENTCAP-001, CLIENTCAP-002, CLIENTCAP-003 (M)", "nothing is asked that the client did not offer", () => {
    const asked = editor.frames.flatMap((frame) => (frame.method && frame.id !== undefined ? [frame.method] : []));
    expect(asked.filter((method) => /^(fs|terminal|elicitation)\//.test(method))).toEqual([]);
  });

  kit("INFO-UNKNOWNSESSION-001 (I)", "an unknown session is -32002 and named", async () => {
    const { error } = await editor.request("session/prompt", textPrompt("otter-20260101T000000-00000000", "hi"));
    expect(error).toMatchObject({ code: -32002, data: { sessionId: "otter-20260101T000000-00000000" } });
  });

  kit(
    "TRANSPORT-001, TRANSPORT-002, SCHEMA-001, SCHEMA-002 (M, A)",
    "every line is one valid frame and nothing more",
    () => {
      const { lines } = editor;
      expect(lines.length).toBeGreaterThan(50);
      for (const line of lines) expect(line).not.toContain("\uFFFD");
      expect(editor.problems().filter((problem) => problem.startsWith("agent"))).toEqual([]);
    },
  );

  kit(
    "INFO-PARSE-001, INFO-INVALIDREQ-001 (I)",
    "a malformed line and a bare value are answered, the stream lives",
    async () => {
      const other = launch(program);
      other.send("{nonsense");
      other.send("[1]");
      other.send('"bare"');
      await other.request("initialize", { protocolVersion: 1 });
      expect(other.frames.slice(0, 3).map((frame) => [frame.id, frame.error?.code])).toEqual([
        [null, -32700],
        [null, -32600],
        [null, -32600],
      ]);
      await other.dispose();
    },
  );

  kit("SHUTDOWN-001, STDERR-001 (A, I)", "it exits by itself when stdin closes, having said little", async () => {
    const other = launch(program, { script });
    await openSession(other);
    other.child.stdin.end();
    expect(await other.exited).toBe(0);
    expect(other.stderr().length).toBeLessThan(2000);
    await other.dispose();
  });

  test("every requirement has one test, and that has passed", () => {
    expect(passed.sort()).toEqual([...REQUIREMENTS].sort());
  });
});
