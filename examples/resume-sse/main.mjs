// A client of a session's event stream that loses its connection again and again, and misses nothing.
import assert from "node:assert/strict";
import { createClient } from "@chimera/client";
import { createMemoryStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { listen } from "@chimera/http-server/node";
import { createSessions } from "@chimera/session";

// --- a server to try it on ---

/** Counts to a hundred, a number at a time. */
async function* counting() {
  yield { type: "step_start", metadata: { step: 0 } };
  for (let i = 1; i <= 100; i++) {
    yield { type: "text_delta", metadata: { text: `${i} ` } };
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  yield { type: "step_end", metadata: { step: 0 } };
}

const store = createMemoryStore();
const sessions = createSessions({ agent: counting, store, prefix: "example", defaults: { model: "none" } });
const token = "example-token";
const app = createApp({ name: "example", version: "1.0.0", sessions, defaultCwd: "/", authToken: token });
const server = await listen(app, { host: "127.0.0.1", port: 0 });
const base = `http://127.0.0.1:${server.port}`;

const client = createClient({
  url: base,
  token,
  onRetry: ({ error }) => console.log(`trying again: ${error.message}`),
});
const session = await client.sessions.start("count");

const vandal = setInterval(() => server.server.closeAllConnections(), 60);
const seen = [];
for await (const record of session.follow()) seen.push(record);
clearInterval(vandal);

assert.equal(seen.at(-1).type, "agent_result");
assert.deepEqual(
  seen.map(({ seq }) => seq),
  seen.map((_, index) => index + 1),
);
const text = seen.filter(({ type }) => type === "text_delta").map(({ metadata }) => metadata.text);
assert.equal(text.join("").trim().split(" ").length, 100);
console.log(`${seen.length} records, none missed and none twice`);
await Promise.all([server.close(), sessions.shutdown()]);
