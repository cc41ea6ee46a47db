// The official SDK as older clients still have it, back to the first that is published under the protocol's first home.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repositoryRoot } from "../scratch.js";
import { install, removeHome } from "./home.js";

/** Updates that came into the protocol later: an SDK of before reports them on its console, and goes on. */
const LATER = ["config_option_update", "session_info_update"];
const SDKS = [
  { sdk: "@zed-industries/agent-client-protocol@0.4.5", unknown: LATER },
  { sdk: "@agentclientprotocol/sdk@0.8.0", unknown: LATER },
  { sdk: "@agentclientprotocol/sdk@0.14.1", unknown: [] },
  { sdk: "@agentclientprotocol/sdk@0.29.0", unknown: [] },
  { sdk: "@agentclientprotocol/sdk@1.9.0", unknown: [] },
];
const edit = { call: "Edit", args: { path: "README.md", old_string: "one", new_string: "two" } };
const script = {
  turns: [
    {
      steps: [
        { reply: [{ thought: "Where?" }, { text: "Hello. ", chunks: 2 }, edit] },
        { reply: [{ call: "Bash", args: { command: "echo shell" } }] },
        { reply: [{ text: "Done." }] },
      ],
    },
    { steps: [{ reply: [{ text: "word ".repeat(3000), chunks: 3000, delayMs: 20 }] }] },
  ],
};
/** A turn with a question, a mode, a turn that is cancelled once it speaks, and the session loaded again. */
const CALLER = `
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "sdk";
const [cwd, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
const unknown = new Set();
console.error = (what, frame) => unknown.add(frame?.params?.update?.sessionUpdate ?? String(what));
let seen = [];
let asked = [];
let spoke = () => {};
const client = {
  async sessionUpdate({ update }) {
    seen.push(update);
    if (update.content?.text?.includes("word")) spoke();
  },
  async requestPermission({ options, toolCall }) {
    asked.push(toolCall.content?.[0]?.type);
    return { outcome: { outcome: "selected", optionId: options.find(({ kind }) => kind === "allow_once").optionId } };
  },
  readTextFile: async ({ path }) => ({ content: readFileSync(path, "utf8") }),
  writeTextFile: async ({ path, content }) => (writeFileSync(path, content), {}),
};
const streams = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const agent = new acp.ClientSideConnection(() => client, streams);
const clientCapabilities = { fs: { readTextFile: true, writeTextFile: true } };
const { authMethods } = await agent.initialize({ protocolVersion: 1, clientCapabilities });
await agent.authenticate({ methodId: authMethods[0].id });
const { sessionId } = await agent.newSession({ cwd, mcpServers: [] });
const say = (text) => agent.prompt({ sessionId, prompt: [{ type: "text", text }] });
const first = await say("go");
const text = seen.filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk").map(({ content }) => content.text).join("");
await agent.setSessionMode({ sessionId, modeId: "auto" });
const speaking = new Promise((resolve) => (spoke = resolve));
const talking = say("talk");
await speaking;
await agent.cancel({ sessionId });
const second = await talking;
const live = [...new Set(seen.map(({ sessionUpdate }) => sessionUpdate))];
seen = [];
await agent.loadSession({ sessionId, cwd, mcpServers: [] });
const again = [...new Set(seen.map(({ sessionUpdate }) => sessionUpdate))];
console.log(JSON.stringify({ stops: [first.stopReason, second.stopReason], asked, text, live, again, unknown: [...unknown] }));
// What the program still writes when it stops is in the directory that is removed next.
child.stdin.end();
await once(child, "exit");
process.exit(0);
`;

describe.each(SDKS)("$sdk", ({ sdk, unknown }) => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), "chimera-older-sdk-"));
    install(home, `sdk@npm:${sdk}`, "zod");
    writeFileSync(join(home, "script.json"), JSON.stringify(script));
    writeFileSync(join(home, "caller.mjs"), CALLER);
  });
  afterAll(() => removeHome(home));

  test.each(["otter", "ferret"])("drives %s: text, question, edit, cancel, load", async (program) => {
    const work = join(home, program);
    mkdirSync(work);
    writeFileSync(join(work, "README.md"), "one\n");
    const cli = join(repositoryRoot, "apps", program, "dist", "cli.js");
    // ferret's default preset leaves one mode, and under this one an edit is not asked about.
    const flags = program === "ferret" ? ["--approval", "auto", "--sandbox", "off"] : [];
    const agent = [process.execPath, cli, "acp", ...flags, "--model", `scripted:${join(home, "script.json")}`];
    const env = { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, `${program}-data`) };
    const args = [join(home, "caller.mjs"), work, ...agent];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
    const shown = ["agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "plan"];
    expect(JSON.parse(stdout)).toEqual({
      stops: ["end_turn", "cancelled"],
      asked: program === "otter" ? ["diff"] : [],
      text: "Hello. Done.",
      live: expect.arrayContaining([...shown, "available_commands_update", "current_mode_update"]),
      again: expect.arrayContaining([...shown, "user_message_chunk"]),
      unknown: expect.toSatisfy((kinds: string[]) => kinds.every((kind) => unknown.includes(kind)), `in ${unknown}`),
    });
    expect(readFileSync(join(work, "README.md"), "utf8")).toBe("two\n");
  });
});
