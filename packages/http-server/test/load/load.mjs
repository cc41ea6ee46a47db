// Event streams under load: many readers, some of which stall, reconnects at random cursors, readers that come and leave, slow
// headers, a restart in the middle. `node test/load/load.mjs [--clients 200] [--stalled 20] [--mib 100] [--reconnects 10000]
// [--visits 10000] [--slow 1500] [--p99 200] [--held 20]`; exits 1 when a promise is broken, and says how much of each part was run.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
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
    visits: { type: "string", default: "10000" },
    slow: { type: "string", default: "1500" },
    p99: { type: "string", default: "200" },
    held: { type: "string", default: "20" },
  },
});
const scale = Object.fromEntries(Object.entries(values).map(([name, text]) => [name, Number(text)]));
const TEXT = 4096;
const MIB = 1024 * 1024;
/** A stalled reader is gone by then. */
const STALL_MS = 30_000;
const here = dirname(fileURLToPath(import.meta.url));
const root = mkdtempSync(join(tmpdir(), "http-load-"));

let server = await start(0);
try {
  await fanOut();
  await hold();
  await reconnect();
  await comeAndLeave();
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
  const before = await server.ask("rss");
  let peak = before;
  let sampling = true;
  const sampler = (async () => {
    while (sampling) {
      peak = Math.max(peak, await server.ask("rss"));
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  })();
  const readers = await Promise.all(
    Array.from({ length: scale.clients }, (_, index) => openReader(id, 0, { stalled: index < scale.stalled })),
  );
  const count = Math.ceil((scale.mib * MIB) / TEXT);
  await post(`/sessions/${id}/turns`, { prompt: `burst ${count} ${TEXT}` });
  const moving = readers.slice(scale.stalled);
  await Promise.all(moving.map((reader) => reader.ended));
  const total = moving[0]?.last ?? 0;
  for (const reader of moving) assert.deepEqual([reader.gaps, reader.last], [0, total]);
  assert.ok(total > count, "every record was delivered");
  const stalled = readers.slice(0, scale.stalled);
  const dropped = await until(async () => (await server.ask("connections")) === 0, STALL_MS);
  sampling = false;
  await sampler;
  for (const reader of stalled) {
    reader.response.resume();
    await reader.ended;
    assert.ok(reader.last < total, "a stalled reader was dropped");
    const again = await openReader(id, reader.last);
    await again.ended;
    assert.deepEqual([reader.gaps, again.gaps, again.last], [0, 0, total]);
  }
  const grown = (peak - before) / MIB;
  assert.ok(grown <= 120, `memory grew by ${grown.toFixed(0)} MiB`);
  const drops = `stalled ones dropped ${(dropped / 1000).toFixed(1)} s after the last record and resumed`;
  const memory = `${(before / MIB).toFixed(0)} MiB +${grown.toFixed(0)} at the peak`;
  report("fan-out", `${scale.clients} readers (${scale.stalled} stalled) x ${total} records, ${memory}; ${drops}`);
}

/** What peers that take nothing make the server hold: at most 2 MiB each, whether they read one session or many. */
async function hold() {
  if (scale.held === 0) return;
  const ids = await Promise.all(Array.from({ length: 16 }, newSession));
  const one = `/sessions/${ids[0]}/events`;
  const many = `/events?list=true&${ids.map((id) => `session=${id}`).join("&")}`;
  const said = [];
  for (const path of [one, many]) {
    const readers = await Promise.all(
      Array.from({ length: scale.held }, () => openReader("", 0, { path, stalled: true })),
    );
    // Far more than the buffers of a connection.
    await Promise.all(
      ids.map((id, at) => post(`/sessions/${id}/turns`, { prompt: `burst ${at === 0 ? 4096 : 256} ${TEXT}` })),
    );
    await until(async () => (await list()).every(({ status }) => status === "idle"), STALL_MS);
    const held = await server.ask("held");
    const stalled = await server.ask("connections");
    for (const { response } of readers) response.destroy();
    await until(async () => (await server.ask("connections")) === 0, 10_000);
    const each = (held - (await server.ask("held"))) / scale.held / MIB;
    assert.ok(each <= 2, `each peer that takes nothing holds ${each.toFixed(1)} MiB (${path.slice(0, 12)})`);
    said.push(`${stalled} on ${path === one ? "one session" : "16 sessions"} hold ${each.toFixed(2)} MiB each`);
  }
  report("stalled", said.join(", "));
}

/** Any cursor is answered with exactly what follows it. */
async function reconnect() {
  if (scale.reconnects === 0) return;
  const id = await newSession();
  await post(`/sessions/${id}/turns`, { prompt: "burst 400 64" });
  const whole = await openReader(id, 0);
  await whole.ended;
  const total = whole.last;
  let done = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (done < scale.reconnects) {
        done++;
        const from = Math.floor(Math.random() * total);
        const reader = await openReader(id, from);
        // Half of them leave in the middle and come back for the rest.
        if (Math.random() < 0.5) {
          await Promise.race([new Promise((resolve) => reader.response.once("data", resolve)), reader.ended]);
          reader.response.destroy();
          // Who has everything would wait for the next turn.
          if (reader.last === total) continue;
          const again = await openReader(id, reader.last);
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

/** What a reader cost goes with it. A tenth of the visits, at least, is warm-up. */
async function comeAndLeave() {
  if (scale.visits === 0) return;
  const id = await newSession();
  const visit = async (count) => {
    let left = count;
    const visitor = async () => {
      while (left-- > 0) {
        const { response, ended } = await openReader(id, 0);
        response.destroy();
        await ended;
      }
    };
    await Promise.all(Array.from({ length: 20 }, visitor));
    await until(async () => (await server.ask("connections")) === 0, 10_000);
    return server.ask("footprint");
  };
  const before = await visit(Math.max(500, scale.visits / 10));
  const after = await visit(scale.visits);
  assert.deepEqual([after.descriptors, after.resources], [before.descriptors, before.resources]);
  const grown = (after.inUse / before.inUse - 1) * 100;
  assert.ok(grown < 10, `memory in use grew by ${grown.toFixed(1)} %`);
  const memory = `${(before.inUse / MIB).toFixed(1)} MiB in use, ${grown.toFixed(1)} % more after`;
  report("come and leave", `${scale.visits} readers, ${memory}; descriptors and timers as before`);
}

/** Sockets that never finish their headers neither keep others waiting nor turn them away. */
async function slowHeaders() {
  if (scale.slow === 0) return;
  const sockets = Array.from({ length: scale.slow }, () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET /sessions HTTP/1.1\r\nHost: loc");
    return socket;
  });
  const drip = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write("a");
  }, 1000);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const held = await server.ask("connections");
  assert.ok(held >= Math.min(scale.slow, 1000) * 0.9, `${held} slow sockets are held`);
  const times = [];
  for (let i = 0; i < 200; i++) {
    const started = performance.now();
    await probe();
    times.push(performance.now() - started);
  }
  clearInterval(drip);
  for (const socket of sockets) socket.destroy();
  const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)];
  assert.ok(p99 < scale.p99, `p99 ${p99.toFixed(0)} ms`);
  report(
    "slow headers",
    `${scale.slow} sockets (${held} held at once), p99 of ${times.length} others ${p99.toFixed(1)} ms`,
  );
}

/** A restart in the middle of streams: each reader goes on where it was, and a number still means the same record. */
async function restart() {
  const id = await newSession();
  await post(`/sessions/${id}/turns`, { prompt: "burst 20000 256" });
  const readers = await Promise.all(Array.from({ length: 8 }, () => openReader(id, 0, { keepIds: true })));
  await until(async () => readers.every((reader) => reader.last > 100), 10_000);
  const { port } = server;
  server.child.kill("SIGKILL");
  await Promise.all([...readers.map((reader) => reader.ended), once(server.child, "exit")]);
  server = await start(port);
  await post(`/sessions/${id}/turns`, { prompt: "burst 10 10" });
  const whole = await openReader(id, 0, { keepIds: true });
  await whole.ended;
  for (const reader of readers) {
    const again = await openReader(id, reader.last, { keepIds: true });
    await again.ended;
    assert.deepEqual([reader.gaps, again.gaps, again.last], [0, 0, whole.last]);
    assert.ok(again.last > reader.last && reader.last > 0, "killed in the middle");
    assert.deepEqual([...reader.ids, ...again.ids], whole.ids);
  }
  const at = readers.map((reader) => reader.last);
  const range = `${Math.min(...at)} to ${Math.max(...at)}`;
  report(
    "restart",
    `${readers.length} readers killed after records ${range}, resumed to ${whole.last} with the same ids`,
  );
}

// --- internal ---

/** How long it took, in milliseconds. */
async function until(holds, limit) {
  const started = performance.now();
  while (!(await holds())) {
    assert.ok(performance.now() - started < limit, `not within ${limit} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return performance.now() - started;
}

async function start(port) {
  const child = fork(join(here, "server.mjs"), [root, String(port)], { execArgv: ["--expose-gc"] });
  const [message] = await once(child, "message");
  return {
    child,
    port: message.port,
    /** `rss` in bytes, how many `connections` are open, or the `footprint`. */
    ask(what) {
      const number = randomUUID();
      child.send({ number, what });
      return new Promise((resolve) => {
        child.on("message", function answered(answer) {
          if (answer.number !== number) return;
          child.off("message", answered);
          resolve(answer.value);
        });
      });
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

function list() {
  return new Promise((resolve, reject) => {
    const sent = get({ port: server.port, host: "127.0.0.1", path: "/sessions", agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(JSON.parse(text).sessions));
    });
    sent.on("error", reject);
  });
}

function probe() {
  return new Promise((resolve, reject) => {
    const sent = get({ port: server.port, host: "127.0.0.1", path: "/health", agent: false }, (response) => {
      response.resume();
      response.on("end", resolve);
    });
    sent.on("error", reject);
  });
}

/** A reader that counts the whole records it is sent, by number; it keeps their ids only when asked to. */
async function openReader(id, from, { stalled = false, keepIds = false, path = `/sessions/${id}/events` } = {}) {
  const sent = get({
    port: server.port,
    host: "127.0.0.1",
    path,
    agent: false,
    headers: from > 0 ? { "last-event-id": String(from) } : {},
  });
  const [response] = await once(sent, "response");
  sent.on("error", () => {});
  response.on("error", () => {});
  const ended = new Promise((resolve) => response.once("close", resolve));
  const reader = { response, gaps: 0, last: from, ids: [], ended };
  let rest = "";
  response.setEncoding("latin1").on("data", (chunk) => {
    const text = rest + chunk;
    let start = 0;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n", start)) {
      if (text.startsWith("id: ", start)) {
        const seq = Number.parseInt(text.slice(start + 4, start + 20), 10);
        if (seq !== reader.last + 1) reader.gaps++;
        reader.last = seq;
        if (keepIds) reader.ids.push(/"id":"([^"]+)"/.exec(text.slice(start, end))?.[1]);
      }
      start = end + 2;
    }
    rest = text.slice(start);
  });
  if (stalled) response.pause();
  return reader;
}

function report(part, text) {
  console.log(`${part}: ${text}`);
}
