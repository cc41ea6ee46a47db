// Both programs under the official SDK's client, stable and unstable: every method is called, every update kind seen, and
// each frame both ways passes the strict reading of the schema, live and on replay.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import * as stable from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import * as unstable from "@agentclientprotocol/sdk/unstable";
import { createOracle } from "@chimera/acp-schema/oracle";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { type Editor, launch, type ProgramName } from "./clients/editor.js";
import type { Frame } from "./peer.js";

const todo = { content: "Look around", status: "in_progress", priority: "high" };
const script = {
  price: { input: 1, output: 2 },
  turns: [
    {
      steps: [
        {
          reply: [
            { error: { code: "rate_limited", retryAfterMs: 1, times: 1 } },
            { thought: "Where to begin?" },
            { text: "A fine beginning. ", chunks: 3 },
            { call: "todo", args: { todos: [todo] } },
            { usage: { input: 1000, output: 50, cacheRead: 10 } },
          ],
        },
        {
          reply: [
            { call: "Read", args: { path: "README.md" } },
            { call: "Write", args: { path: "made.txt", content: "made by the agent\n" } },
          ],
        },
        {
          expect: { result: "made.txt" },
          reply: [{ call: "acp_terminal", args: { command: "echo", args: ["hello"] } }],
        },
        { expect: { result: "from the terminal" }, reply: [{ call: "Bash", args: { command: "echo shell; ls" } }] },
        { reply: [{ text: "All done." }] },
      ],
    },
    { steps: [{ reply: [{ text: "talk ".repeat(500), chunks: 500, delayMs: 20 }] }] },
    { steps: [{ reply: [{ text: "A summary of it all." }] }] },
  ],
};

const capabilities = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
};

/** The updates that a client gets live, and again when it loads the session. */
const shownAgain = [
  "agent_thought_chunk",
  "agent_message_chunk",
  "tool_call",
  "tool_call_update",
  "plan",
  "usage_update",
  "session_info_update",
  "current_mode_update",
  "notice",
  "compaction_update",
];

type Transport = "stdio" | "http" | "websocket";
type Open = (
  editor: Editor,
  kept: (stream: stable.Stream) => stable.Stream,
  stdio: () => unknown,
) => unknown | Promise<unknown>;

/** How a client reaches the program. On stdio the lines are kept as they are. */
const TRANSPORTS: Record<Transport, { readonly args: readonly string[]; readonly open: Open }> = {
  stdio: { args: [], open: (_editor, _kept, stdio) => stdio() },
  http: {
    args: ["--http", "--port", "0"],
    open: async (editor, kept) => kept(createHttpStream(`${await addressOf(editor)}/acp`)),
  },
  websocket: {
    args: ["--http", "--port", "0"],
    open: async (editor, kept) =>
      kept(
        createWebSocketStream(`${(await addressOf(editor)).replace("http", "ws")}/acp`, {
          WebSocket: WebSocket as never,
        }),
      ),
  },
};

async function addressOf(editor: Editor): Promise<string> {
  await expect.poll(() => editor.stderr(), { timeout: 20_000 }).toMatch(/https?:/);
  return /http:\/\/[^\s]+/.exec(editor.stderr())?.[0] ?? "";
}

/** The program under a client of the given build, with every line both ways kept. */
async function drive(program: ProgramName, sdk: typeof stable | typeof unstable, transport: Transport) {
  const args = [...(program === "ferret" ? ["--sandbox", "off"] : []), ...TRANSPORTS[transport].args];
  const editor = launch(program, { script, args });
  onTestFinished(() => editor.dispose());
  const lines: { from: "agent" | "client"; line: string }[] = [];
  /** The transport's own stream, with every message both ways kept as a line. */
  const kept = (stream: stable.Stream): stable.Stream => {
    const keep = (from: "agent" | "client") =>
      new TransformStream<stable.AnyMessage, stable.AnyMessage>({
        transform(message, control) {
          lines.push({ from, line: JSON.stringify(message) });
          control.enqueue(message);
        },
      });
    const out = keep("client");
    void out.readable.pipeTo(stream.writable).catch(() => {});
    return { readable: stream.readable.pipeThrough(keep("agent")), writable: out.writable };
  };
  const asked: string[] = [];
  let sent = "";
  const output = new WritableStream<Uint8Array>({
    write(chunk) {
      sent += Buffer.from(chunk).toString("utf8");
      const whole = sent.split("\n");
      sent = whole.pop() ?? "";
      for (const line of whole) lines.push({ from: "client", line });
      editor.child.stdin.write(chunk);
    },
    close: () => void editor.child.stdin.end(),
  });
  let received = "";
  editor.child.stdout.on("data", (chunk) => {
    received += String(chunk);
    const whole = received.split("\n");
    received = whole.pop() ?? "";
    for (const line of whole) lines.push({ from: "agent", line });
  });
  const input = Readable.toWeb(editor.child.stdout) as ReadableStream<Uint8Array>;
  const answering = <T>(method: string, answer: T) => {
    asked.push(method);
    return answer;
  };
  const { agent } = (sdk as typeof stable)
    .client()
    .onRequest("session/request_permission", ({ params }) => {
      const option = params.options.find((one) => one.kind === "allow_once");
      return answering("session/request_permission", {
        outcome: { outcome: "selected" as const, optionId: option?.optionId ?? "" },
      });
    })
    .onRequest("fs/read_text_file", () => answering("fs/read_text_file", { content: "# From the editor\n" }))
    .onRequest("fs/write_text_file", () => answering("fs/write_text_file", {}))
    .onRequest("terminal/create", () => answering("terminal/create", { terminalId: "term-1" }))
    .onRequest("terminal/wait_for_exit", () => answering("terminal/wait_for_exit", { exitCode: 0 }))
    .onRequest("terminal/output", () => answering("terminal/output", { output: "from the terminal", truncated: false }))
    .onRequest("terminal/release", () => answering("terminal/release", {}))
    .onNotification("session/update", () => {})
    .connect((await TRANSPORTS[transport].open(editor, kept, () => sdk.ndJsonStream(output, input))) as never);
  const frames = () => lines.map(({ line }) => JSON.parse(line) as Frame);
  const kinds = (from = 0) =>
    new Set(
      frames()
        .slice(from)
        .filter((frame) => frame.method === "session/update")
        .map((frame) => frame.params.update.sessionUpdate as string),
    );
  return { editor, agent, lines, asked, kinds, frames };
}

const UNSTABLE_METHODS = ["session/fork", "session/set_title"];

describe.each([
  ["otter", "stable", stable, "stdio"],
  ["otter", "unstable", unstable, "stdio"],
  ["ferret", "stable", stable, "stdio"],
  ["otter", "stable", stable, "http"],
  ["otter", "stable", stable, "websocket"],
] as const)("%s under the %s client", (program, build, sdk, transport) => {
  test(`serves every method over ${transport}, shows every kind of update, and writes nothing the schema forbids`, async () => {
    const { editor, agent, lines, asked, kinds, frames } = await drive(program, sdk, transport);
    const { cwd } = editor;
    const say = (sessionId: string, text: string) =>
      agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });

    const params = { protocolVersion: 1 as const, clientCapabilities: capabilities };
    const hello: stable.InitializeResponse = await agent.request("initialize", params);
    expect(hello).toMatchObject({ protocolVersion: 1, agentInfo: { name: program } });
    await agent.request("authenticate", { methodId: hello.authMethods?.[0]?.id ?? "" });
    const { sessionId, configOptions } = await agent.request("session/new", { cwd, mcpServers: [] });
    // ferret's default preset overrules the switches.
    const flags = program === "otter" ? ["auto_approve_writes", "auto_approve_execute", "read_only"] : ["approval"];
    expect(configOptions?.map(({ id }) => id)).toEqual(expect.arrayContaining(["model", "mode", "agent", ...flags]));
    if (program === "ferret") {
      await agent.request("session/set_config_option", { sessionId, configId: "approval", value: "auto" });
    }

    const reply = await say(sessionId, "begin");
    expect(reply).toMatchObject({ stopReason: "end_turn", usage: { inputTokens: expect.any(Number) } });
    expect(new Set(asked)).toEqual(
      new Set([
        // ferret's preset lets these calls through.
        ...(program === "otter" ? ["session/request_permission"] : []),
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
      ]),
    );

    const shown = frames().flatMap(({ params }) => params?.update?.content ?? []) as { type: string }[];
    expect(new Set(shown.map(({ type }) => type))).toEqual(new Set(["content", "diff", "terminal", "text"]));

    await agent.request("session/set_mode", { sessionId, modeId: "auto" });
    await agent.request("session/set_config_option", { sessionId, configId: "model", value: "offline" });
    const back = frames().find((frame) => frame.result?.configOptions)?.result.configOptions[0].currentValue;
    await agent.request("session/set_config_option", { sessionId, configId: "model", value: back });
    const talking = say(sessionId, "talk");
    await new Promise((resolve) => setTimeout(resolve, 300));
    await agent.notify("session/cancel", { sessionId });
    expect((await talking).stopReason).toBe("cancelled");
    expect((await say(sessionId, "/compact")).stopReason).toBe("end_turn");
    expect(kinds()).toEqual(new Set([...shownAgain, "available_commands_update", "config_option_update"]));

    const listed = await agent.request("session/list", { cwd });
    expect(listed.sessions).toMatchObject([{ sessionId, cwd, title: expect.stringContaining("A fine beginning") }]);
    await agent.request("session/close", { sessionId });
    const before = lines.length;
    await agent.request("session/load", { sessionId, cwd, mcpServers: [] });
    expect(kinds(before)).toEqual(new Set([...shownAgain, "user_message_chunk", "available_commands_update"]));
    await agent.request("session/close", { sessionId });
    await agent.request("session/resume", { sessionId, cwd });
    expect((await say(sessionId, "/undo")).stopReason).toBe("end_turn");
    expect(lines.some(({ line }) => line.includes("/undo: rewound 1 turn"))).toBe(true);
    if (build === "unstable") {
      const ask = agent.request.bind(agent) as (method: string, params: object) => Promise<Record<string, string>>;
      const fork = { sessionId, cwd, mcpServers: [], _meta: { "chimera.dev/messageIndex": 0 } };
      expect((await ask("session/fork", fork))["sessionId"]).not.toBe(sessionId);
      expect(await ask("session/set_title", { sessionId, title: "Named" })).toEqual({ title: "Named" });
    }
    await agent.request("session/delete", { sessionId });
    await agent.request("logout", {});
    editor.child.stdin.end();
    if (transport !== "stdio") editor.child.kill("SIGTERM");
    expect(await editor.exited, editor.stderr()).toBe(0);

    const conversation = createOracle({ unstable: true }).conversation();
    const problems = lines.flatMap(({ from, line }) =>
      conversation.next(from, line).map((problem) => `${from}: ${problem}: ${line.slice(0, 300)}`),
    );
    expect(problems).toEqual([]);
    expect(conversation.open()).toEqual([]);
    // The stable schema knows fewer fields: what it objects to is what `docs/compatibility.md` lists, and nothing else.
    const stable = createOracle({ allow: UNSTABLE_METHODS }).conversation();
    const objections = lines.flatMap(({ from, line }) => stable.next(from, line));
    expect(new Set(objections)).toEqual(
      new Set([
        "InitializeResponse/agentCapabilities/sessionCapabilities must NOT have unevaluated properties (fork)",
        "PromptResponse must NOT have unevaluated properties (usage)",
      ]),
    );
    expect(readFileSync(join(cwd, "README.md"), "utf8")).toBe("# A workspace\n");
  });
});
