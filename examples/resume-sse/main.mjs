// A client of a session's event stream that loses its connection again and again, and misses nothing.
import assert from "node:assert/strict";
import { createMemoryStore } from "@chimera/event-store";
import { createApp } from "@chimera/http-server";
import { listen } from "@chimera/http-server/node";
import { createSessions } from "@chimera/session";
import { EventSourceParserStream } from "eventsource-parser/stream";

/**
 * Follows a stream to its end. `onEvent` is called once per record, in order, whatever happens to the connection.
 */
async function follow(url, { token, onEvent, lastEventId = "" }) {
  for (;;) {
    try {
      const headers = { authorization: `Bearer ${token}`, ...(lastEventId && { "last-event-id": lastEventId }) };
      const response = await fetch(url, { headers });
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
      for await (const event of events) {
        if (event.event === "end") return JSON.parse(event.data);
        lastEventId = event.id;
        onEvent(event);
      }
    } catch (error) {
      console.log(`lost the connection after event ${lastEventId}: ${error.message}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

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

const created = await fetch(`${base}/sessions`, {
  method: "POST",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: JSON.stringify({ prompt: "count" }),
});
const { session_id, session_token } = await created.json();

const vandal = setInterval(() => server.server.closeAllConnections(), 60);
const seen = [];
const end = await follow(`${base}/sessions/${session_id}/events`, {
  token: session_token,
  onEvent: (event) => seen.push(event),
});
clearInterval(vandal);

assert.deepEqual(end, { session_id, success: true });
assert.deepEqual(
  seen.map((event) => Number(event.id)),
  seen.map((_, index) => index + 1),
);
const text = seen.filter((event) => event.event === "text_delta").map((event) => JSON.parse(event.data).metadata.text);
assert.equal(text.join("").trim().split(" ").length, 100);
console.log(`${seen.length} events, none missed and none twice`);
await Promise.all([server.close(), sessions.shutdown()]);
