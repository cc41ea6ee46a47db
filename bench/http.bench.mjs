// HTTP against a bare node:http server: start, session creation, and fan-out of event streams.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, get, request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const home = mkdtempSync(join(tmpdir(), "chimera-bench-"));
const floorScript = join(here, "http-floor.mjs");
const otter = [join(here, "..", "apps", "otter", "dist", "cli.js"), "serve", "--port"];
const servers = {
  floor: await start(floorScript, "floor"),
  ours: await start(join(here, "..", "packages", "http-server", "test", "load", "server.mjs"), "ours"),
};
try {
  await startUp();
  await creation();
  for (const readers of [1, 50, 500]) await fanOut(readers);
} finally {
  for (const { child } of Object.values(servers)) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}

async function startUp() {
  let port = 21_000 + (process.pid % 20_000);
  const samples = await interleave(
    {
      floor: () => spawnToHealth([floorScript, join(home, "spawn"), String(++port)], port),
      ours: () => spawnToHealth([...otter, String(++port)], port),
    },
    { runs: 5 },
  );
  const [ours, floor] = [median(samples.ours), median(samples.floor)];
  row({ name: "otter: spawn to /health", ours, floor, unit: "ms", target: 2 });
}

async function creation() {
  const agent = new Agent({ keepAlive: true });
  const create = async ({ port }) => milliseconds(() => post(port, "/session", {}, agent));
  const samples = await interleave(
    { floor: () => create(servers.floor), ours: () => create(servers.ours) },
    { runs: 60, warmup: 10 },
  );
  agent.destroy();
  const [ours, floor] = [median(samples.ours), median(samples.floor)];
  row({ name: "POST /session", ours, floor, unit: "ms", target: 3 });
}

async function fanOut(readers) {
  const samples = await interleave(
    { floor: () => deliveries(servers.floor, readers), ours: () => deliveries(servers.ours, readers) },
    { runs: 3 },
  );
  const [ours, floor] = [median(samples.ours), median(samples.floor)];
  row({ name: `SSE to ${readers} readers`, ours, floor, unit: "records/s", target: 0.4, better: "higher" });
}

// --- internal ---

async function start(script, name) {
  const child = fork(script, [join(home, name)], { env: cleanEnv() });
  const [{ port }] = await once(child, "message");
  return { child, port };
}

async function spawnToHealth(args, port) {
  const started = performance.now();
  const child = spawn(process.execPath, args, { env: cleanEnv({ CHIMERA_HOME: home }), stdio: "ignore" });
  while (!(await healthy(port))) await new Promise((resolve) => setTimeout(resolve, 3));
  const elapsed = performance.now() - started;
  child.kill("SIGKILL");
  await once(child, "exit");
  return elapsed;
}

function healthy(port) {
  return new Promise((resolve) => {
    const asked = get({ port, host: "127.0.0.1", path: "/health", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on("error", () => resolve(false));
  });
}

async function deliveries({ port }, readers) {
  const { session_id: id } = await post(port, "/session", {});
  const count = 2000;
  const streams = await Promise.all(Array.from({ length: readers }, () => openReader(port, id)));
  const elapsed = await milliseconds(async () => {
    await post(port, `/sessions/${id}/turns`, { prompt: `burst ${count} 16` });
    await Promise.all(streams.map((stream) => stream.done));
  });
  for (const { response } of streams) response.destroy();
  return (count * readers) / (elapsed / 1000);
}

async function openReader(port, id) {
  const asked = get({ port, host: "127.0.0.1", path: `/sessions/${id}/events`, agent: false });
  const [response] = await once(asked, "response");
  response.on("error", () => {});
  const done = new Promise((resolve) => {
    let tail = "";
    response.setEncoding("latin1").on("data", (chunk) => {
      if ((tail + chunk).includes("event: agent_result")) resolve();
      tail = chunk.slice(-20);
    });
  });
  return { response, done };
}

function post(port, path, body, agent = false) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = request({ port, host: "127.0.0.1", method: "POST", path, agent, headers }, (response) => {
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
