// From spawn to `initialize` answered, against a bare Node program that answers one line.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cleanEnv, interleave, median, row } from "./report.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const home = mkdtempSync(join(tmpdir(), "chimera-bench-"));
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: 1, clientCapabilities: {} },
};

/** Starts a program, asks it once, and gives the milliseconds until the first byte of its answer. */
async function timeToAnswer(args) {
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    env: cleanEnv({ CHIMERA_HOME: home }),
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  child.stdin.write(`${JSON.stringify(initialize)}\n`);
  const first = await Promise.race([once(child.stdout, "data"), exited]);
  const elapsed = performance.now() - started;
  if (!Buffer.isBuffer(first[0])) throw new Error(`${args[0]} ended before it answered`);
  child.stdin.end();
  await exited;
  return elapsed;
}

const cli = (app) => join(here, "..", "apps", app, "dist", "cli.js");
try {
  const samples = await interleave(
    {
      floor: () => timeToAnswer([join(here, "echo-floor.mjs")]),
      otter: () => timeToAnswer([cli("otter"), "serve", "--acp"]),
      ferret: () => timeToAnswer([cli("ferret"), "serve"]),
    },
    { runs: 20, warmup: 2 },
  );
  const floor = median(samples.floor);
  row({ name: "otter: spawn to initialize", ours: median(samples.otter), floor, unit: "ms", target: 1.6 });
  row({ name: "ferret: spawn to initialize", ours: median(samples.ferret), floor, unit: "ms", target: 1.6 });
  const otter = median(samples.otter);
  row({ name: "ferret against otter", ours: median(samples.ferret), floor: otter, unit: "ms", target: 1.1 });
} finally {
  rmSync(home, { recursive: true, force: true });
}
