#!/usr/bin/env node
// Several servers on one database, and things that go wrong: servers and the database are killed, servers are frozen and wake up,
// connections are cut. After every round and at the end: no acknowledged prompt is lost or doubled, no reader has a gap or a duplicate,
// nothing is written to a turn after its end, and a dead server's sessions are taken over within the lease and a second.
//   npm run test:cluster -- [--rounds 200] [--seed 1] [--nodes 3] [--sessions 6] [--lease 2]
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startOwnPostgres } from "@chimera/store-postgres/testing";
import { createChance } from "../soak/chance.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    nodes: { type: "string", default: "3" },
    sessions: { type: "string", default: "6" },
    lease: { type: "string", default: "2" },
  },
});
const leaseMs = Number(values.lease) * 1000;
const chance = createChance(Number(values.seed));
const apps = process.env.CHIMERA_APPS ?? resolve(import.meta.dirname, "../../apps");
const cli = join(apps, "otter/dist/cli.js");
const root = mkdtempSync(join(tmpdir(), "chimera-cluster-"));
const workspace = join(root, "workspace");
mkdirSync(workspace);
const script = join(root, "script.json");
const turn = { steps: [{ reply: [{ text: "word ".repeat(20), chunks: 20, delayMs: 25 }] }] };
writeFileSync(script, JSON.stringify({ repeat: true, turns: [turn] }));

const postgres = await startOwnPostgres(process.env);
const database = await postgres.database();
const store = `${database.url}?lease=${values.lease}`;
const problems = [];
const takeovers = [];
const counts = { prompts: 0, acknowledged: 0, unknown: 0, refused: 0, reconnects: 0, records: 0 };

// --- nodes ---

let made = 0;
async function startNode() {
  const home = join(root, `home-${++made}`);
  const args = ["serve", "--port", "0", "--store", store, "--workspace-host", "shared", "--log-level", "error"];
  const child = spawn(process.execPath, [cli, ...args, "--model", `scripted:${script}`], {
    cwd: workspace,
    env: { PATH: process.env.PATH, HOME: home, CHIMERA_HOME: home },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = new Promise((end) => child.once("exit", end));
  let text = "";
  const address = await new Promise((found, failed) => {
    child.stderr.setEncoding("utf8").on("data", (chunk) => {
      text = (text + chunk).slice(-4000);
      const [, url] = /listening on (http:\S+)/.exec(text) ?? [];
      if (url) found(url);
    });
    exited.then(() => failed(new Error(`a server ended: ${text}`)));
  });
  const node = { child, address, exited, isUp: true };
  await until("a server answers", async () => (await fetch(`${address}/info`).catch(() => null))?.ok, 60_000);
  return node;
}

async function until(what, isSo, ms = 30_000) {
  const end = performance.now() + ms;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await pause(20);
  }
}

const nodes = await Promise.all(Array.from({ length: Number(values.nodes) }, startNode));
const anyNode = () => chance.pick(nodes.filter(({ isUp }) => isUp));
const ask = (node, method, path, body) =>
  fetch(`${node.address}${path}`, {
    method,
    ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(leaseMs + 20_000),
  });

// --- sessions, their prompts and their readers ---

let isOver = false;
async function openSession() {
  for (;;) {
    const response = await ask(anyNode(), "POST", "/session", {}).catch(() => null);
    if (response?.status === 201) return { id: (await response.json()).session_id, sent: new Map(), readers: [] };
    await pause(100);
  }
}

/** Sends prompts one after the other, each with a text of its own, and notes what became of each. */
async function live(session) {
  while (!isOver) {
    const text = `prompt ${++counts.prompts}`;
    try {
      const response = await ask(anyNode(), "POST", `/sessions/${session.id}/turns`, { prompt: text });
      const { error } = await response.json();
      if (response.status === 202) counts.acknowledged += 1;
      else if (error === "outcome_unknown") counts.unknown += 1;
      else counts.refused += 1;
      session.sent.set(
        text,
        response.status === 202 ? "acknowledged" : error === "outcome_unknown" ? "unknown" : "refused",
      );
    } catch {
      // The connection broke with its node: it may have been taken.
      counts.unknown += 1;
      session.sent.set(text, "unknown");
    }
    await pause(chance.between(50, 400));
  }
}

/** Follows a session over whichever node is up, from the last record it has. */
async function follow(session) {
  const reader = { seen: 0, isDone: false };
  session.readers.push(reader);
  while (!reader.isDone) {
    const gone = new AbortController();
    try {
      const response = await fetch(`${anyNode().address}/sessions/${session.id}/events`, {
        headers: { "last-event-id": String(reader.seen) },
        signal: gone.signal,
      });
      const timer = setInterval(() => reader.isDone && gone.abort(), 100);
      let rest = "";
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        const blocks = (rest + chunk).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const [, id] = /^id: (\d+)$/m.exec(block) ?? [];
          if (id === undefined) continue;
          if (Number(id) !== reader.seen + 1)
            problems.push(`${session.id}: a reader got record ${id} after ${reader.seen}`);
          reader.seen = Number(id);
        }
      }
      clearInterval(timer);
    } catch {
      // Its node is gone, frozen or not there yet.
    }
    counts.reconnects += 1;
    await pause(50);
  }
}

const sessions = await Promise.all(Array.from({ length: Number(values.sessions) }, openSession));
const living = sessions.map(live);
const following = sessions.flatMap((session) => [follow(session), follow(session)]);

// --- what goes wrong ---

/** Asked again while the database is away. */
const query = async (statement, ...given) => {
  for (;;) {
    try {
      return await database.query(statement, given);
    } catch {
      await pause(50);
    }
  }
};
const ownedBy = (pid) =>
  query("SELECT s.sid FROM chimera.session s JOIN chimera.node n ON n.node = s.owner WHERE n.pid = $1", pid);

/** From the moment a node is dead or frozen until others have all its sessions. */
async function measureTakeover(node, at) {
  const orphans = (await ownedBy(node.child.pid)).map(({ sid }) => sid);
  if (orphans.length === 0) return;
  const left = async () => (await ownedBy(node.child.pid)).filter(({ sid }) => orphans.includes(sid));
  await until("a takeover", async () => (await left()).length === 0, leaseMs + 30_000);
  const ms = performance.now() - at;
  takeovers.push(ms);
}

const FAULTS = {
  async killNode() {
    const at = nodes.indexOf(anyNode());
    const node = nodes[at];
    node.isUp = false;
    const killedAt = performance.now();
    node.child.kill("SIGKILL");
    await measureTakeover(node, killedAt);
    nodes[at] = await startNode();
  },
  async freezeNode() {
    const node = anyNode();
    node.isUp = false;
    const frozenAt = performance.now();
    node.child.kill("SIGSTOP");
    await measureTakeover(node, frozenAt);
    await pause(chance.between(0, leaseMs / 2));
    node.child.kill("SIGCONT");
    node.isUp = true;
  },
  async drainNode() {
    const at = nodes.indexOf(anyNode());
    nodes[at].isUp = false;
    nodes[at].child.kill("SIGTERM");
    await nodes[at].exited;
    nodes[at] = await startNode();
  },
  async killDatabase() {
    await postgres.kill();
    await pause(chance.between(100, leaseMs));
    await postgres.start();
  },
  async cutConnections() {
    for (let i = 0; i < 10; i++) {
      await query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'chimera' AND random() < 0.5",
      );
      await pause(50);
    }
  },
};
const names = Object.keys(FAULTS);
const executed = Object.fromEntries(names.map((name) => [name, 0]));
const startedAt = performance.now();
for (let round = 0; round < Number(values.rounds); round++) {
  // Every kind is met in a few rounds; after that, mostly servers die.
  const name =
    round < names.length
      ? names[(round + Number(values.seed)) % names.length]
      : chance.pick([...names, "killNode", "killNode"]);
  await pause(chance.between(200, 1200));
  await FAULTS[name]();
  executed[name] += 1;
}

// --- the account ---

isOver = true;
await Promise.all(living);
for (const session of sessions) await settle(session);
for (const { readers } of sessions) for (const reader of readers) reader.isDone = true;
await Promise.all(following);
for (const node of nodes) node.child.kill("SIGTERM");
await Promise.all(nodes.map(({ exited }) => exited));
await database.drop();
await postgres.stop();
rmSync(root, { recursive: true, force: true });

/** Waits until the log is at rest and every reader has all of it, then holds all against each other. */
async function settle({ id, sent, readers }) {
  const head = async () => (await query("SELECT last_seq::float8 AS last FROM chimera.session WHERE sid = $1", id))[0];
  let last = -1;
  await until(
    `${id} is at rest`,
    async () => {
      const before = last;
      last = (await head()).last;
      await pause(700);
      return last === before;
    },
    60_000,
  );
  for (const reader of readers)
    await until(`a reader of ${id} has all ${last}, not ${reader.seen}`, () => reader.seen >= last).catch((error) =>
      problems.push(error.message),
    );
  const rows = await query("SELECT line FROM chimera.event WHERE sid = $1 ORDER BY seq", id);
  counts.records += rows.length;
  const records = rows.map(({ line }) => JSON.parse(line));
  records.forEach((record, i) => {
    if (record.seq !== i + 1) problems.push(`${id}: record ${i + 1} has the number ${record.seq}`);
  });
  const times = new Map();
  for (const { type, metadata } of records)
    if (type === "user_message") times.set(metadata.text, (times.get(metadata.text) ?? 0) + 1);
  for (const [text, outcome] of sent) {
    const found = times.get(text) ?? 0;
    if (outcome === "acknowledged" && found !== 1)
      problems.push(`${id}: ${text} was acknowledged and is there ${found} times`);
    if (found > 1) problems.push(`${id}: ${text} is there ${found} times`);
  }
  const ended = new Set();
  for (const { seq, type, turn } of records) {
    if (turn === null) continue;
    if (ended.has(turn) && type !== "undo")
      problems.push(`${id}: record ${seq} (${type}) belongs to turn ${turn}, which has ended`);
    if (type === "agent_result" || type === "cancelled") ended.add(turn);
  }
}

const slowest = Math.max(0, ...takeovers);
if (slowest > leaseMs + 1000)
  problems.push(`a takeover took ${Math.round(slowest)} ms, more than the lease and a second`);
const spent = ((performance.now() - startedAt) / 1000).toFixed(0);
console.log(
  JSON.stringify({
    seed: values.seed,
    seconds: Number(spent),
    executed,
    ...counts,
    takeovers: takeovers.length,
    slowest: Math.round(slowest),
  }),
);
for (const problem of problems) console.log(`PROBLEM ${problem}`);
console.log(problems.length === 0 ? "nothing was lost, doubled or left" : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
