// otter over HTTP beside other agents that have a server: `PEERS=<directory> node bench/peers.mjs`, where `npm i opencode-ai` was run in
// that directory. Each life starts a program afresh, in a home of its own; all ask the same model on loopback, and take turns.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, get, request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startChatModel } from "./chat-model.mjs";
import { freePort, isHealthy } from "./http-client.mjs";
import { cleanEnv, interleave, median, milliseconds } from "./report.mjs";

const DELTAS = 2000;
const RUNS = 5;
const { PEERS } = process.env;
const keepAlive = new Agent({ keepAlive: true });

const otter = {
  command: (port) => [
    process.execPath,
    join(import.meta.dirname, "..", "apps", "otter", "dist", "cli.js"),
    ...["serve", "--port", port, "--log-level", "silent", "--model", "gpt-4o"],
  ],
  env: (home, model) => ({ CHIMERA_HOME: home, OPENAI_API_KEY: "x", OPENAI_BASE_URL: model }),
  health: "/health",
  create: async (port) => (await call(port, "/session", {})).session_id,
  events: (id) => `/sessions/${id}/events`,
  prompt: (port, id, text) => call(port, `/sessions/${id}/turns`, { prompt: text }),
  delta: "event: text_delta",
  end: "event: agent_result",
};

const opencode = {
  command: (port) => [
    join(PEERS ?? "", "node_modules", ".bin", "opencode"),
    ...["serve", "--port", port, "--hostname", "127.0.0.1"],
  ],
  env(home, model) {
    const options = { baseURL: model, apiKey: "x" };
    const models = { mock: { name: "mock", tool_call: true, limit: { context: 2e6, output: 1e6 } } };
    const settings = {
      autoupdate: false,
      share: "disabled",
      model: "mock/mock",
      small_model: "mock/mock",
      permission: "allow",
      enabled_providers: ["mock"],
      provider: { mock: { npm: "@ai-sdk/openai-compatible", name: "mock", options, models } },
    };
    put(join(home, ".config", "opencode", "opencode.json"), JSON.stringify(settings));
    return { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1" };
  },
  health: "/global/health",
  create: async (port) => (await call(port, "/session", {})).id,
  events: () => "/event",
  prompt: (port, id, text) => {
    const model = { providerID: "mock", modelID: "mock" };
    return call(port, `/session/${id}/message`, { model, parts: [{ type: "text", text }] });
  },
  delta: '"type":"message.part.delta"',
  end: '"type":"session.idle"',
};

const model = await startChatModel();
const peers = { otter, ...(PEERS && { "opencode serve": opencode }) };
const lives = await interleave(
  Object.fromEntries(Object.entries(peers).map(([name, peer]) => [name, () => life(peer)])),
  { runs: RUNS, warmup: 1 },
);
await model.close();
keepAlive.destroy();

const columns = Object.keys(lives.otter[0]);
console.log(`| | ${columns.join(" | ")} |`);
console.log(`|---|${columns.map(() => "---|").join("")}`);
for (const [name, all] of Object.entries(lives)) {
  const figures = columns.map((column) => Number(median(all.map((one) => one[column])).toPrecision(3)));
  console.log(`| ${name} | ${figures.map((figure) => figure.toLocaleString("en")).join(" | ")} |`);
}

async function life(peer) {
  const home = mkdtempSync(join(tmpdir(), "peers-"));
  const port = String(await freePort());
  const [command, ...args] = peer.command(port);
  const env = cleanEnv({ HOME: home, ...peer.env(home, model.url) });
  const started = performance.now();
  const child = spawn(command, args, { env, cwd: home, stdio: "ignore", detached: true, timeout: 120_000 });
  try {
    while (!(await isHealthy(port, peer.health))) await pause(3);
    const healthy = performance.now() - started;
    const first = await milliseconds(() => peer.create(port));
    const second = await milliseconds(() => peer.create(port));
    await pause(500);
    const idle = memoryOf(child.pid);
    const chunks = [];
    const id = await peer.create(port);
    for (let i = 0; i < 8; i++) chunks.push((await timed(peer, port, id, "1", 1)).first);
    const [one] = await Promise.all([timed(peer, port, await peer.create(port), String(DELTAS), 1)]);
    const ten = await timed(peer, port, await peer.create(port), String(DELTAS), 10);
    return {
      "start, ms": healthy,
      "first session, ms": first,
      "second session, ms": second,
      "idle, MiB": idle,
      "warm prompt to first chunk, ms": median(chunks.slice(3)),
      [`${DELTAS.toLocaleString("en")} deltas to one reader, ms`]: one.all,
      "to ten readers, ms": ten.all,
    };
  } finally {
    process.kill(-child.pid, "SIGKILL");
    await once(child, "exit");
    rmSync(home, { recursive: true, force: true });
  }
}

/** Milliseconds from a prompt to the first piece of its answer, and until every reader has seen its end. */
async function timed(peer, port, id, text, readers) {
  const streams = await Promise.all(Array.from({ length: readers }, () => follow(port, peer.events(id))));
  await pause(50);
  const asked = performance.now();
  const first = streams[0].sees(peer.delta).then(() => performance.now() - asked);
  const ends = streams.map((stream) => stream.sees(peer.end));
  void peer.prompt(port, id, text);
  await Promise.all(ends);
  const all = performance.now() - asked;
  for (const stream of streams) stream.close();
  return { first: await first, all };
}

/** A reader of the events to come: `sees` resolves when a text has come by. */
async function follow(port, path) {
  const headers = { "last-event-id": String(Number.MAX_SAFE_INTEGER) };
  const [response] = await once(get({ port, host: "127.0.0.1", path, headers, agent: false }), "response");
  const wanted = new Map();
  let tail = "";
  response.on("error", () => {});
  response.setEncoding("latin1").on("data", (chunk) => {
    const text = tail + chunk;
    for (const [part, resolve] of wanted) if (text.includes(part)) resolve();
    tail = chunk.slice(-40);
  });
  return { sees: (part) => new Promise((resolve) => wanted.set(part, resolve)), close: () => response.destroy() };
}

function call(port, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = request({ port, host: "127.0.0.1", method: "POST", path, agent: keepAlive, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(text === "" ? null : JSON.parse(text)));
    });
    sent.on("error", reject).end(JSON.stringify(body));
  });
}

/** In MiB, with what the process has started. */
function memoryOf(pid) {
  const own = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  return children.reduce((sum, child) => sum + memoryOf(child), own);
}

function put(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
