// HTTP against a bare node:http server: start, session creation, and fan-out of event streams.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isHealthy, post, timeToReaders } from "./http-client.mjs";
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
  while (!(await isHealthy(port))) await new Promise((resolve) => setTimeout(resolve, 3));
  const elapsed = performance.now() - started;
  child.kill("SIGKILL");
  await once(child, "exit");
  return elapsed;
}

async function deliveries({ port }, readers) {
  const count = 2000;
  return (count * readers) / ((await timeToReaders(port, readers, `burst ${count} 16`)) / 1000);
}
