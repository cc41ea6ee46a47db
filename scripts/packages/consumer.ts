// A user's program in strict TypeScript: an agent of its own on the server's API, without a word of `any`. Compiled against the
// installed packages by check-packages.mjs, and run.
import { createMemoryStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { type Listening, listen } from "@chimera/http-server/node";
import { type Agent, createSessions, type Sessions } from "@chimera/session";

const shout: Agent = async function* (turn) {
  yield { type: "text_delta", metadata: { text: turn.prompt.text.toUpperCase() } };
};

const sessions: Sessions = createSessions({
  agent: shout,
  prefix: "shout",
  store: createMemoryStore(),
  defaults: { model: "none" },
});
const app = createApp({ name: "shout", version: "1.0.0", sessions, defaultCwd: process.cwd() });
const server: Listening = await listen(app, { host: "127.0.0.1", port: 0 });

const address = `http://127.0.0.1:${server.port}/sessions`;
const created = await fetch(address, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ prompt: "hello" }),
});
const { session_id } = (await created.json()) as { session_id: string };
const events = await fetch(`${address}/${session_id}/events`).then((response) => response.text());
if (!events.includes("HELLO")) throw new Error(events);

await server.close();
await sessions.shutdown();
