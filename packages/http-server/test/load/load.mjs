// Event streams under load: many readers, some of which stall, reconnects at random cursors, slow headers, a restart in the
// middle. `node test/load/load.mjs [--clients 200] [--stalled 20] [--mib 100] [--reconnects 10000] [--slow 1500]`; exits 1 when
// a promise is broken, and says how much of each part was run.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { get, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "200" },
    stalled: { type: "string", default: "20" },
    mib: { type: "string", default: "100" },
    reconnects: { type: "string", default: "10000" },
    slow: { type: "string", default: "1500" },
  },
});
const scale = Object.fromEntries(Object.entries(values).map(([name, text]) => [name, Number(text)]));
const TEXT = 4096;
const MIB = 1024 * 1024;
const STALL_MS = 30_000;
const here = dirname(fileURLToPath(import.meta.url));
const root = mkdtempSync(join(tmpdir(), "http-load-"));

let server = await start(0);
try {
  await fanOut();
  await reconnect();
  await slowHeaders();
  await restart();
} finally {
  server.child.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true });
}

// --- the parts ---

/** Readers get everything, memory stays bounded, stalled ones are dropped and resume without loss. */
async function fanOut() {
  if (scale.clients === 0) return;
  const id = await newSession();
  const before = await server.rss();
  let peak = before;
  const sampling = setInterval(async () => {
    peak = Math.max(peak, await server.rss());
  }, 250);
  const readers = await Promise.all(
    Array.from({ length: scale.clients }, (_, index) => openReader(id, 0, index < scale.stalled)),
  );
  const count = Math.ceil((scale.mib * MIB) / TEXT);
  await post(`/sessions/${id}/turns`, { prompt: `burst ${count} ${TEXT}` });
  const moving = readers.slice(scale.stalled);
  await Promise.all(moving.map((reader) => reader.ended));
  const total = moving[0]?.last ?? 0;
  for (const reader of moving) assert.deepEqual([reader.gaps, reader.last], [0, total]);
  assert.ok(total > count, "every record was delivered");
  const stalled = readers.slice(0, scale.stalled);
  if (stalled.length > 0) await new Promise((resolve) => setTimeout(resolve, STALL_MS + 5000));
  clearInterval(sampling);
  for (const reader of stalled) {
    reader.response.resume();
    await reader.ended;
    assert.ok(reader.last < total, "a stalled reader was dropped");
    const again = await openReader(id, reader.last, false);
    await again.ended;
    assert.deepEqual([reader.gaps, again.gaps, again.last], [0, 0, total]);
  }
  const grown = (peak - before) / MIB;
  assert.ok(grown <= 120, `memory grew by ${grown.toFixed(0)} MiB`);
  report(
    "fan-out",
    `${scale.clients} readers (${scale.stalled} stalled) x ${total} records, +${grown.toFixed(0)} MiB at the peak`,
  );
}

/** Any cursor is answered with exactly what follows it. */
async function reconnect() {
  if (scale.reconnects === 0) return;
  const id = await newSession();
  await post(`/sessions/${id}/turns`, { prompt: "burst 400 64" });
  const whole = await openReader(id, 0, false);
  await whole.ended;
  const total = whole.last;
  let done = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (done < scale.reconnects) {
        done++;
        const from = Math.floor(Math.random() * total);
        const reader = await openReader(id, from, false);
        // Half of them leave in the middle and come back for the rest.
        if (Math.random() < 0.5) {
          await Promise.race([new Promise((resolve) => reader.response.once("data", resolve)), reader.ended]);
          reader.response.destroy();
          // Who has everything would wait for the next turn.
          if (reader.last === total) continue;
          const again = await openReader(id, reader.last, false);
          await again.ended;
          assert.deepEqual([reader.gaps, again.gaps, again.last], [0, 0, total]);
        } else {
          await reader.ended;
          assert.deepEqual([reader.gaps, reader.last], [0, total]);
        }
      }
    }),
  );
  report("reconnects", `${done} of ${scale.reconnects}, no gap and no duplicate`);
}

/** Sockets that never finish their headers do not keep others waiting. */
async function slowHeaders() {
  if (scale.slow === 0) return;
  const sockets = [];
  for (let i = 0; i < scale.slow; i++) {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET /sessions HTTP/1.1\r\nHost: loc");
    sockets.push(socket);
  }
  const drip = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write("a");
  }, 1000);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const times = [];
  let refused = 0;
  for (let i = 0; i < 200; i++) {
    const started = performance.now();
    // A full house turns callers away at once; they come again.
    while (!(await probe())) refused++;
    times.push(performance.now() - started);
  }
  clearInterval(drip);
  for (const socket of sockets) socket.destroy();
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)];
  assert.ok(p99 < 200 || refused > 0, `p99 ${p99.toFixed(0)} ms`);
  report("slow headers", `${scale.slow} sockets, p99 of others ${p99.toFixed(1)} ms, ${refused} tries turned away`);
}

/** A restart in the middle of a stream: the same numbers go on. */
async function restart() {
  const id = await newSession();
  await post(`/sessions/${id}/turns`, { prompt: "burst 20000 256" });
  const reader = await openReader(id, 0, false);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { port } = server;
  server.child.kill("SIGKILL");
  await Promise.all([reader.ended, once(server.child, "exit")]);
  server = await start(port);
  await post(`/sessions/${id}/turns`, { prompt: "burst 10 10" });
  const again = await openReader(id, reader.last, false);
  await again.ended;
  assert.deepEqual([reader.gaps, again.gaps], [0, 0]);
  assert.ok(again.last > reader.last);
  report("restart", `killed after record ${reader.last}, resumed to ${again.last}`);
}

// --- internal ---

async function start(port) {
  const child = fork(join(here, "server.mjs"), [root, String(port)], { execArgv: ["--expose-gc"] });
  const [message] = await once(child, "message");
  return {
    child,
    port: message.port,
    async rss() {
      child.send("rss");
      const [answer] = await once(child, "message");
      return answer.rss;
    },
  };
}

function post(path, body) {
  return new Promise((resolve, reject) => {
    const options = { port: server.port, host: "127.0.0.1", method: "POST", path, agent: false };
    const sent = request({ ...options, headers: { "content-type": "application/json" } }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(JSON.parse(text)));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(body));
  });
}

async function newSession() {
  return (await post("/session", {})).session_id;
}

function probe() {
  return new Promise((resolve) => {
    const asked = get({ port: server.port, host: "127.0.0.1", path: "/health", agent: false }, (response) => {
      response.resume();
      response.on("end", () => resolve(true));
    });
    asked.on("error", () => setTimeout(resolve, 20, false));
  });
}

/** A reader that counts what it is sent without keeping it. */
async function openReader(id, from, stalled) {
  const asked = get({
    port: server.port,
    host: "127.0.0.1",
    path: `/sessions/${id}/events`,
    agent: false,
    headers: from > 0 ? { "last-event-id": String(from) } : {},
  });
  const [response] = await once(asked, "response");
  asked.on("error", () => {});
  response.on("error", () => {});
  const reader = { response, gaps: 0, last: from, ended: new Promise((resolve) => response.once("close", resolve)) };
  let rest = "";
  response.setEncoding("latin1").on("data", (chunk) => {
    const text = rest + chunk;
    let at = 0;
    for (;;) {
      const start = text.indexOf("id: ", at);
      const end = start < 0 ? -1 : text.indexOf("\n", start);
      if (end < 0) {
        rest = text.slice(start < 0 ? -3 : start);
        return;
      }
      const seq = Number(text.slice(start + 4, end));
      if (seq !== reader.last + 1) reader.gaps++;
      reader.last = seq;
      at = end;
    }
  });
  if (stalled) response.pause();
  return reader;
}

function report(part, text) {
  console.log(`${part}: ${text}`);
}
