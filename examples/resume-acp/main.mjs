// A client that loses its agent in the middle of an answer: the process is killed, a new one is started, and the client
// reads on from the last event it saw. Nothing is missed, nothing comes twice.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createConnection } from "@chimera/ndjson-rpc";

const home = mkdtempSync(join(tmpdir(), "resume-acp-"));
const words = Array.from({ length: 40 }, (_, index) => `word-${index} `);
// A model that says the same words every time, one every 20 ms.
const script = { turns: [{ steps: [{ reply: words.map((text) => ({ text, delayMs: 20 })) }] }] };
writeFileSync(join(home, "script.json"), JSON.stringify(script));

/** What the client knows: the last event, and the text so far. */
const seen = { lastEventId: 0, text: "" };

function start() {
  const otter = join(dirname(createRequire(import.meta.url).resolve("@chimera/otter/package.json")), "dist", "cli.js");
  const child = spawn(process.execPath, [otter, "acp", "--model", `scripted:${join(home, "script.json")}`], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, CHIMERA_HOME: join(home, "data") },
  });
  child.stdin.on("error", () => {}); // it was killed; its exit says so
  const agent = createConnection({
    input: child.stdout,
    output: child.stdin,
    methods: {
      "session/update": {
        handle({ update, _meta }) {
          const eventId = _meta?.["chimera.dev/eventId"];
          if (eventId === undefined) return;
          assert.ok(eventId > seen.lastEventId, "an event came twice");
          seen.lastEventId = eventId;
          if (update.sessionUpdate === "agent_message_chunk") seen.text += update.content.text;
        },
      },
    },
  });
  return { child, agent };
}

const first = start();
await first.agent.request("initialize", { protocolVersion: 1 });
const { sessionId } = await first.agent.request("session/new", { cwd: home, mcpServers: [] });
first.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] }).catch(() => {});
while (!seen.text.includes("word-10 ")) await new Promise((resolve) => setTimeout(resolve, 5));
first.child.kill("SIGKILL");
await once(first.child, "exit");
const before = { ...seen };

const second = start();
await second.agent.request("initialize", { protocolVersion: 1 });
const { lastEventId } = await second.agent.request("_chimera.dev/session/replay", {
  sessionId,
  sinceEventId: before.lastEventId,
});
assert.ok(lastEventId > before.lastEventId, "the interrupted turn was ended in the log");
assert.ok(words.join("").startsWith(seen.text), "the text is the beginning of the answer, without a gap");
assert.ok(seen.text.length >= before.text.length);

// The session goes on: `/cost` answers without a model.
const prompt = [{ type: "text", text: "/cost" }];
const { stopReason } = await second.agent.request("session/prompt", { sessionId, prompt });
assert.equal(stopReason, "end_turn");

second.child.stdin.end();
assert.deepEqual(await once(second.child, "exit"), [0, null]);
rmSync(home, { recursive: true });
console.log(`ok: ${before.lastEventId} events before the kill, read on to ${lastEventId}`);
