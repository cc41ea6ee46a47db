// use-acp, the React hooks for ACP over WebSockets that marimo's editor has, through stdio-to-ws as its users start an agent.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { repositoryRoot } from "../scratch.js";
import { install, removeHome } from "./home.js";

const edit = { call: "Edit", args: { path: "README.md", old_string: "one", new_string: "two" } };
const script = {
  turns: [{ steps: [{ reply: [{ text: "Hello. ", chunks: 2 }, edit] }, { reply: [{ text: "Done." }] }] }],
};
/** A page of one hook, without a browser: it asks, answers a question, and says what it would draw. */
const CALLER = `
import { createElement } from "react";
import { create } from "react-test-renderer";
import { mergeToolCalls, useAcpClient } from "use-acp";
import { WebSocket } from "ws";
globalThis.WebSocket = WebSocket;
const say = console.log;
console.log = () => {};
const [wsUrl, cwd] = process.argv.slice(2);
let client;
const until = async (holds) => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
};
create(createElement(() => ((client = useAcpClient({ wsUrl, reconnectAttempts: 0 })), null)));
await until(() => client?.agent);
const { agent } = client;
await agent.initialize({ protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } } });
const { sessionId } = await agent.newSession({ cwd, mcpServers: [] });
const turn = agent.prompt({ sessionId, prompt: [{ type: "text", text: "go" }] });
await until(() => client.pendingPermission);
const { options, toolCall } = client.pendingPermission;
const { optionId } = options.find(({ kind }) => kind === "allow_once");
client.resolvePermission({ outcome: { outcome: "selected", optionId } });
const { stopReason } = await turn;
const updates = () => client.notifications.flatMap(({ type, data }) => (type === "session_notification" ? [data.update] : []));
const text = () => updates().flatMap(({ sessionUpdate, content }) => (sessionUpdate === "agent_message_chunk" ? [content.text] : [])).join("");
await until(() => text().endsWith("Done."));
const calls = mergeToolCalls(updates().filter(({ sessionUpdate }) => sessionUpdate.startsWith("tool_call")));
say(JSON.stringify({
  stopReason,
  text: text(),
  asked: toolCall.content[0].type,
  calls: calls.map(({ title, status, content }) => [title, status, content.map(({ type }) => type)]),
  mode: client.sessionMode.currentModeId,
  commands: client.availableCommands.some(({ name }) => name === "undo"),
  errors: client.notifications.filter(({ type }) => type === "error").length,
}));
process.exit(0);
`;

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "chimera-use-acp-"));
  install(home, "use-acp@0.2.6", "stdio-to-ws@0.2.0", "react@19", "react-dom@19", "react-test-renderer@19", "ws@8");
  writeFileSync(join(home, "script.json"), JSON.stringify(script));
  writeFileSync(join(home, "caller.mjs"), CALLER);
});
afterAll(() => removeHome(home));

test("a page streams, asks and shows an edit of otter", async () => {
  const work = join(home, "work");
  mkdirSync(work);
  writeFileSync(join(work, "README.md"), "one\n");
  const cli = join(repositoryRoot, "apps", "otter", "dist", "cli.js");
  const agent = `${process.execPath} ${cli} acp --model scripted:${join(home, "script.json")}`;
  const port = await freePort();
  const env = { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, "data") };
  const bridge = spawn(
    process.execPath,
    [join(home, "node_modules", "stdio-to-ws", "dist", "main.js"), "--port", String(port), agent],
    { env, stdio: "ignore", detached: true },
  );
  onTestFinished(() => void (bridge.pid !== undefined && process.kill(-bridge.pid, "SIGKILL")));
  const address = `127.0.0.1:${port}`;
  // Without a WebSocket it answers 426, which says that it listens.
  await expect
    .poll(
      () =>
        fetch(`http://${address}`).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 20_000 },
    )
    .toBe(426);
  const args = [join(home, "caller.mjs"), `ws://${address}`, work];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
  expect(JSON.parse(stdout)).toEqual({
    stopReason: "end_turn",
    text: "Hello. Done.",
    asked: "diff",
    calls: [["Edit README.md", "completed", ["diff"]]],
    mode: "review",
    commands: true,
    errors: 0,
  });
  expect(readFileSync(join(work, "README.md"), "utf8")).toBe("two\n");
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
