// The agent's HTTP API as a part of another application, under a path of its own.
import assert from "node:assert/strict";
import { createMemoryStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { listen } from "@chimera/http-server/node";
import { createSessions } from "@chimera/session";
import { Hono } from "hono";

/** Any function that takes a turn and yields events is an agent. */
async function* echo({ prompt }) {
  yield { type: "step_start", metadata: { step: 0 } };
  yield { type: "text_delta", metadata: { text: `you said: ${prompt.text}` } };
  yield { type: "step_end", metadata: { step: 0 } };
}

const store = createMemoryStore();
const sessions = createSessions({ agent: echo, store, prefix: "example", defaults: { model: "none" } });
const agent = createApp({
  name: "example",
  version: "1.0.0",
  sessions,
  defaultCwd: "/",
  authToken: "example-token",
  hosts: ["shop.example"],
});

const shop = new Hono();
shop.get("/", (c) => c.text("a shop"));
shop.mount("/agent", agent.fetch);

const server = await listen(shop, { host: "127.0.0.1", port: 0 });
const base = `http://127.0.0.1:${server.port}`;
const authorization = "Bearer example-token";

assert.equal(await (await fetch(base)).text(), "a shop");
assert.equal((await fetch(`${base}/agent/health`)).status, 200);
assert.equal((await fetch(`${base}/agent/sessions`)).status, 401);

const created = await fetch(`${base}/agent/sessions`, {
  method: "POST",
  headers: { authorization, "content-type": "application/json" },
  body: JSON.stringify({ prompt: "good morning" }),
});
const { session_id } = await created.json();
const events = await fetch(`${base}/agent/sessions/${session_id}/events`, { headers: { authorization } });
const text = await events.text();
assert.match(text, /you said: good morning/);
assert.match(text, /event: end/);

// A session without a request: the program may hand a customer a credential for this session alone.
const { session, sessionToken } = await agent.createSession();
const open = (id) => fetch(`${base}/agent/session/${id}`, { headers: { authorization: `Bearer ${sessionToken}` } });
assert.equal((await (await open(session.id)).json()).session_id, session.id);
assert.equal((await open(session_id)).status, 401);
console.log("mounted under /agent, and reachable from inside");
await Promise.all([server.close(), sessions.shutdown()]);
