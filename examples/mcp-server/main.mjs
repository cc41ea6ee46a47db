// The agent with the tools of an MCP server: `otter acp --mcp mcp.json` starts it for the session, offers its tool to the model,
// asks before it is called and ends it with the session.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createConnection } from "@chimera/ndjson-rpc";

const home = mkdtempSync(join(tmpdir(), "mcp-server-"));
// The paths in mcp.json are read in the session's directory, as a terminal would read them: here the repository.
const repository = join(import.meta.dirname, "..", "..");
const { version } = JSON.parse(readFileSync(join(repository, "node_modules", "valibot", "package.json"), "utf8"));

// A model that calls the tool twice, once with a name that leads astray, and goes on only when it is answered.
const tool = "mcp__packages__installed_version";
const script = {
  turns: [
    {
      steps: [
        { reply: [{ call: tool, args: { name: "valibot" } }] },
        { expect: { result: `valibot ${version}` }, reply: [{ call: tool, args: { name: "../../package.json" } }] },
        { expect: { result: "not the name of a package" }, reply: [{ text: `It is ${version}.` }] },
      ],
    },
  ],
};
writeFileSync(join(home, "script.json"), JSON.stringify(script));

const otter = join(dirname(createRequire(import.meta.url).resolve("@chimera/otter/package.json")), "dist", "cli.js");
const args = ["acp", "--mcp", "examples/mcp-server/mcp.json", "--model", `scripted:${join(home, "script.json")}`];
const child = spawn(process.execPath, [otter, ...args], {
  cwd: repository,
  stdio: ["pipe", "pipe", "inherit"],
  env: { ...process.env, CHIMERA_HOME: join(home, "data") },
});

const asked = [];
let text = "";
const agent = createConnection({
  input: child.stdout,
  output: child.stdin,
  methods: {
    "session/update": {
      handle({ update }) {
        if (update.sessionUpdate === "agent_message_chunk") text += update.content.text;
      },
    },
    "session/request_permission": {
      kind: "request",
      handle({ toolCall, options }) {
        // What a server says about its own tools is not trusted, so a person is asked.
        asked.push(toolCall.title);
        const { optionId } = options.find(({ kind }) => kind === "allow_once");
        return { outcome: { outcome: "selected", optionId } };
      },
    },
  },
});

await agent.request("initialize", { protocolVersion: 1 });
const { sessionId } = await agent.request("session/new", { cwd: repository, mcpServers: [] });
const prompt = [{ type: "text", text: "which valibot is this?" }];
const { stopReason } = await agent.request("session/prompt", { sessionId, prompt });

assert.equal(stopReason, "end_turn");
assert.equal(text, `It is ${version}.`);
assert.deepEqual(asked, ["packages: Installed version", "packages: Installed version"]);
console.log(text);

child.stdin.end();
assert.deepEqual(await once(child, "exit"), [0, null]);
rmSync(home, { recursive: true, force: true });
