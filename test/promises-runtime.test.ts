// The promises of a runtime to the program that starts it: separate logs, a clean end, its version, keys and time-outs by name.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { ofKind, startEditor } from "./editor.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";
import { startServer } from "./server.js";

async function ended(name: "otter" | "ferret", args: string[], env: Record<string, string> = {}) {
  const program = startProgram(name, args, env);
  let stdout = "";
  program.child.stdout.on("data", (bytes) => {
    stdout += String(bytes);
  });
  return { code: await program.exited, stdout, stderr: program.stderr() };
}

test.each(["otter", "ferret"] as const)("%s --version answers", async (name) => {
  expect(await ended(name, ["--version"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/\d+\.\d+\.\d+/) });
});

describe("logs", () => {
  test("go to stderr and the file asked for, as much as asked for, never to stdout", async () => {
    const levels = await Promise.all(
      ["debug", "error"].map(async (level) => {
        const editor = await startEditor({ args: ["--log-level", level, "--log-file", "acp.log"] });
        const { sessionId } = await editor.open();
        await editor.prompt(sessionId, "list files");
        editor.program.child.stdin.end();
        await editor.program.exited;
        for (const frame of editor.frames) expect(frame.jsonrpc).toBe("2.0");
        const path = join(editor.program.cwd, "acp.log");
        return { stderr: editor.program.stderr(), file: existsSync(path) ? readFileSync(path, "utf8") : "" };
      }),
    );
    const [debug, error] = levels;
    expect(debug?.file.split("\n").filter(Boolean).length).toBeGreaterThan(0);
    expect(debug?.stderr).not.toBe("");
    expect(error).toEqual({ stderr: "", file: "" });
  });

  test.each(["otter", "ferret"] as const)("every line says who started %s, on stderr and in the file", async (name) => {
    const args = ["--log-level", "debug", "--log-file", "acp.log"];
    const env = { [`${name.toUpperCase()}_LAUNCHED_BY`]: "zed" };
    const editor = await startEditor({ name, command: ["acp"], args, env });
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "list files");
    editor.program.child.stdin.end();
    await editor.program.exited;
    const file = readFileSync(join(editor.program.cwd, "acp.log"), "utf8");
    for (const log of [editor.program.stderr(), file]) {
      const lines = log.trimEnd().split("\n");
      expect(lines.length).toBeGreaterThan(2);
      for (const line of lines) expect(JSON.parse(line)).toMatchObject({ launched_by: "zed" });
    }
  });

  test("at debug the log names the model that each call switched to, and otherwise does not", async () => {
    for (const level of ["debug", "info"]) {
      const editor = await startEditor({ args: ["--log-level", level] });
      const { sessionId } = await editor.open();
      await editor.request("session/set_model", { sessionId, modelId: "faux-one" });
      await editor.request("session/set_config_option", { sessionId, configId: "model", value: "faux-two" });
      await editor.prompt(sessionId, "/model faux-three");
      editor.program.child.stdin.end();
      await editor.program.exited;
      const lines = editor.program.stderr().split("\n").filter(Boolean);
      const switches = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === "model changed");
      const expected = ["faux-one", "faux-two", "faux-three"].map((name) => ({ session: sessionId, new: name }));
      expect(switches).toMatchObject(level === "debug" ? expected : []);
    }
  });

  test("a server's are structured, and stdout stays empty", async () => {
    const server = await startServer(["--log-level", "debug"]);
    let stdout = "";
    server.program.child.stdout.on("data", (bytes) => {
      stdout += String(bytes);
    });
    await server.ask("GET /info");
    server.program.child.kill("SIGTERM");
    await server.program.exited;
    const lines = server.program.stderr().trimEnd().split("\n").slice(1);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        ts: expect.any(String),
        level: expect.any(String),
        message: expect.any(String),
      });
    }
    expect(stdout).toBe("");
  });
});

describe("the end", () => {
  test("SIGTERM after a turn is a clean end", async () => {
    const editor = await startEditor();
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "list files");
    editor.program.child.kill("SIGTERM");
    expect(await editor.program.exited).toBe(0);
  });

  test("closing stdin cancels what runs, after all that was said is delivered", async () => {
    const turns = [{ steps: [{ reply: [{ text: "word ".repeat(400), chunks: 400 }, { stall: true }] }] }];
    const editor = await startEditor({ turns, args: ["--no-coalesce"] });
    const { sessionId } = await editor.open();
    void editor.prompt(sessionId, "talk");
    await editor.find((frame) => frame.params?.update?.sessionUpdate === "agent_message_chunk");
    editor.program.child.stdin.end();
    expect(await editor.program.exited).toBe(0);
    const log = await journalOf(editor.program.home, sessionId);
    const logged = log.filter((record) => record.type === "text_delta").map((record) => record.metadata.text);
    const chunks = ofKind(
      editor.frames.flatMap((frame) => frame.params?.update ?? []),
      "agent_message_chunk",
    ).map((update) => update.content.text);
    expect(chunks.join("")).toBe(logged.join(""));
    expect(log.at(-1)?.type).toBe("cancelled");
  });
});

describe("protocol mistakes", () => {
  test.each([
    ["an unknown method", "session/fly", {}, -32601],
    ["params of the wrong shape", "session/prompt", { sessionId: 5 }, -32602],
    ["no cwd", "session/new", { mcpServers: [] }, -32602],
    ["an unknown session", "session/prompt", { sessionId: "nope", prompt: [] }, -32002],
  ])("%s", async (_what, method, params, code) => {
    const editor = await startEditor();
    expect((await editor.request(method, params)).error).toMatchObject({ code, message: expect.stringMatching(/\w/) });
  });
});

describe("approval time-outs", () => {
  const turns = [
    {
      steps: [{ reply: [{ call: "Write", args: { path: "note.txt", content: "x" } }] }, { reply: [{ text: "Done." }] }],
    },
  ];
  test("a time-out denies", async () => {
    const answers = { "session/request_permission": () => undefined };
    const editor = await startEditor({ turns, answers, args: ["--permission-timeout", "0.3"] });
    const { sessionId } = await editor.open();
    const { result } = await editor.prompt(sessionId, "write");
    expect(result.stopReason).toBe("end_turn");
    expect(existsSync(join(editor.program.cwd, "note.txt"))).toBe(false);
  });

  test("without one it waits", async () => {
    let answer: (value: unknown) => void = () => {};
    const answers = { "session/request_permission": () => new Promise((resolve) => (answer = resolve)) };
    const editor = await startEditor({ turns, answers });
    const { sessionId } = await editor.open();
    const turn = editor.prompt(sessionId, "write");
    const { params } = await editor.find((frame) => frame.method === "session/request_permission");
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(existsSync(join(editor.program.cwd, "note.txt"))).toBe(false);
    answer({ outcome: { outcome: "selected", optionId: params.options[0].optionId } });
    await turn;
    expect(existsSync(join(editor.program.cwd, "note.txt"))).toBe(true);
  });

  test("one of 30 days waits", async () => {
    let answer: (value: unknown) => void = () => {};
    const answers = { "session/request_permission": () => new Promise((resolve) => (answer = resolve)) };
    const editor = await startEditor({ turns, answers, args: ["--permission-timeout", "2592000"] });
    const { sessionId } = await editor.open();
    const turn = editor.prompt(sessionId, "write");
    const { params } = await editor.find((frame) => frame.method === "session/request_permission");
    await new Promise((resolve) => setTimeout(resolve, 300));
    answer({ outcome: { outcome: "selected", optionId: params.options[0].optionId } });
    await turn;
    expect(existsSync(join(editor.program.cwd, "note.txt"))).toBe(true);
  });

  test.each(["true", '"60"', "-1", "1e999"])("%s in the configuration is refused at start", async (value) => {
    const home = scratchTree({ "config.json": `{"permission_timeout": ${value}}` });
    const { code, stderr } = await ended("otter", ["serve", "--acp"], { CHIMERA_HOME: home });
    expect(code).toBe(2);
    expect(stderr).toContain("permission_timeout takes a number of at least 0");
  });

  test.each(["-1", "NaN", "Infinity", "soon", "true"])("%s is refused at start", async (value) => {
    const { code, stderr, stdout } = await ended("otter", ["serve", "--acp", `--permission-timeout=${value}`]);
    expect(code).toBe(2);
    expect(stderr).toContain("--permission-timeout");
    expect(stdout).toBe("");
  });
});

describe("keys and models", () => {
  test("a key enables its provider", async () => {
    const server = await startServer([], { ANTHROPIC_API_KEY: "sk-a", OPENAI_API_KEY: "sk-o" });
    const { available, active } = (await server.ask("GET /providers")).body;
    const configured = available.filter((row: { configured: boolean }) => row.configured);
    expect(configured.map((row: { name: string }) => row.name)).toEqual(
      expect.arrayContaining(["anthropic", "openai"]),
    );
    expect(active.provider).toBe("anthropic");
  });

  const models: [what: string, models: string[], path: string, variable: string][] = [
    ["each of", ["claude-sonnet-4-6"], "/v1/messages", "ANTHROPIC_BASE_URL"],
    [
      "each of",
      ["gpt-5.2", "o1-pro", "o3-mini", "o4-mini", "chatgpt-4o-latest"],
      "/chat/completions",
      "OPENAI_BASE_URL",
    ],
    ["each of", ["mistral-small", "my-own-model"], "/api/chat", "OLLAMA_HOST"],
  ];
  const keys = { ANTHROPIC_API_KEY: "sk-a", OPENAI_API_KEY: "sk-o" };
  test.each(models)("%s %j is asked at its vendor's address", async (_ids, names, path, variable) => {
    const { address, asked } = await startVendor();
    const server = await startServer([], { ...(variable !== "OLLAMA_HOST" && keys), [variable]: address });
    for (const model of names) await server.run("hello", { model });
    // Ollama is first asked what the model holds.
    const answered = asked.filter(({ line }) => line !== "POST /api/show");
    expect(answered.map(({ model }) => model)).toEqual(names);
    for (const { line } of answered) expect(line).toContain(path);
  });

  test("names of other vendors' models are Ollama's until their key is set or their prefix is written", async () => {
    const [ollama, deepseek] = [await startVendor(), await startVendor()];
    const names = ["deepseek-r1", "kimi-k2", "gemini-x", "hf.co/org/model"];
    const without = await startServer([], { ...keys, OLLAMA_HOST: ollama.address });
    for (const model of names) await without.run("hello", { model });
    const chats = () => ollama.asked.filter(({ line }) => line !== "POST /api/show");
    expect(chats().map(({ model }) => model)).toEqual(names);

    const set = { OLLAMA_HOST: ollama.address, DEEPSEEK_API_KEY: "sk-d", DEEPSEEK_BASE_URL: deepseek.address };
    const withKey = await startServer([], set);
    for (const model of ["deepseek-r1", "deepseek/deepseek-chat"]) await withKey.run("hello", { model });
    expect(deepseek.asked.map(({ model }) => model)).toEqual(["deepseek-r1", "deepseek-chat"]);
    const { frames } = await without.run("hello", { model: "deepseek/deepseek-chat" });
    expect(JSON.stringify(frames)).toContain("DEEPSEEK_API_KEY");
    expect(chats()).toHaveLength(names.length);
  });

  test("when Ollama does not answer, the error names the key of the vendor", async () => {
    const { address, close } = await startVendor();
    await close();
    const server = await startServer([], { OLLAMA_HOST: address });
    const expected = [
      ["deepseek-r1", "DEEPSEEK_API_KEY"],
      ["gemini-x", "GEMINI_API_KEY"],
      ["org/model", "OPENROUTER_API_KEY"],
      ["my-own-model", "OLLAMA_HOST"],
    ] as const;
    for (const [model, variable] of expected) {
      const { frames } = await server.run("hello", { model });
      const error = frames.find((frame) => frame.event === "error");
      expect(error?.data.metadata.message).toContain(new URL(address).host);
      expect(error?.data.metadata.message).toContain(variable);
    }
  });
});

/** A vendor that refuses every request, and remembers for which model it was. */
async function startVendor() {
  const asked: { line: string; model: string }[] = [];
  const vendor = createServer(async (request, response) => {
    // The program may ask for the vendor's list of models, too.
    if (request.method === "GET") return void response.writeHead(404).end();
    const body = JSON.parse(await text(request)) as { model: string };
    asked.push({ line: `${request.method} ${request.url}`, model: body.model });
    response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
  });
  await new Promise<void>((resolve) => vendor.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void vendor.close());
  const close = () => new Promise((resolve) => vendor.close(resolve));
  return { address: `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`, asked, close };
}

async function journalOf(home: string, id: string): Promise<{ type: string; metadata: { text: string } }[]> {
  const server = await startServer([], {}, { home });
  return (await server.ask(`GET /sessions/${id}`)).body.events;
}
