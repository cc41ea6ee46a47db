// HTTP against a bare node:http server: start, session creation, prompts, and fan-out of event streams.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startChatModel } from "./chat-model.mjs";
import { freePort, isHealthy, openReader, post, timeToReaders } from "./http-client.mjs";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const LIVE = 100;
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
  await prompts();
  for (const readers of [1, 50, 500]) await fanOut(readers);
} finally {
  for (const { child } of Object.values(servers)) child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}

async function startUp() {
  const samples = await interleave(
    {
      floor: () => spawnToHealth((port) => [floorScript, join(home, "spawn"), port]),
      ours: () => spawnToHealth((port) => [...otter, port]),
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

/** A process that answers its first prompts, and a hundred at once. */
async function prompts() {
  const model = await startChatModel();
  const lives = await interleave(
    {
      floor: () => promptedLife((port) => [floorScript, join(home, `floor-${port}`), port], model.url),
      ours: () => promptedLife((port) => [...otter, port, "--log-level", "silent", "--model", "gpt-4o"], model.url),
    },
    { runs: 5 },
  );
  await model.close();
  const of = (who, what) => median(lives[who].map((life) => life[what]));
  const ours = (what) => ({ ours: of("ours", what), floor: of("floor", what), unit: "ms" });
  row({ name: "first POST /sessions of a process", ...ours("first"), target: "40 ms" });
  row({
    name: "what it takes longer than the second",
    ours: of("ours", "first") - of("ours", "second"),
    unit: "ms",
    target: "50 ms",
  });
  row({ name: "warm prompt to first chunk, journaled", ...ours("chunk"), target: 1.5 });
  row({ name: `prompts to ${LIVE} live sessions acknowledged`, ...ours("acknowledged"), target: "200 ms" });
}

async function promptedLife(args, modelUrl) {
  const port = await freePort();
  const env = cleanEnv({ HOME: home, CHIMERA_HOME: home, OPENAI_API_KEY: "x", OPENAI_BASE_URL: modelUrl });
  const child = spawn(process.execPath, args(String(port)), { env, cwd: home, stdio: "ignore", timeout: 60_000 });
  await untilHealthy(child, port);
  await pause(300);
  const agent = new Agent({ keepAlive: true });
  const create = () => post(port, "/session", {}, agent);
  const start = () => post(port, "/sessions", { prompt: "1" }, agent);
  const first = await milliseconds(start);
  await pause(300);
  const second = await milliseconds(start);
  const { session_id: id } = await create();
  const chunks = [];
  for (let warm = 0; warm < 8; warm++) {
    const reader = await openReader(port, id, "next");
    const seen = reader.sees("text_delta");
    chunks.push(
      await milliseconds(() => {
        void post(port, `/sessions/${id}/turns`, { prompt: "1" }, agent);
        return seen;
      }),
    );
    await pause(30);
    reader.close();
  }
  const live = [];
  for (let i = 0; i < LIVE; i++) live.push((await create()).session_id);
  const prompt = (session) => post(port, `/sessions/${session}/turns`, { prompt: "20" }, agent);
  await Promise.all(live.map(prompt));
  await pause(1000);
  const acknowledged = await milliseconds(() => Promise.all(live.map(prompt)));
  agent.destroy();
  child.kill("SIGKILL");
  await once(child, "exit");
  return { first, second, chunk: median(chunks.slice(3)), acknowledged };
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

async function spawnToHealth(args) {
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, args(String(port)), { env: cleanEnv({ CHIMERA_HOME: home }), stdio: "ignore" });
  await untilHealthy(child, port);
  const elapsed = performance.now() - started;
  child.kill("SIGKILL");
  await once(child, "exit");
  return elapsed;
}

async function untilHealthy(child, port) {
  while (!(await isHealthy(port))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(" ")} ended with ${child.exitCode}`);
    await pause(3);
  }
}

async function deliveries({ port }, readers) {
  const count = 2000;
  return (count * readers) / ((await timeToReaders(port, readers, `burst ${count} 16`)) / 1000);
}
