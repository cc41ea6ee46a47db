// From spawn to `initialize` answered, against a bare Node program that answers one line.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startAcp } from "./acp-client.mjs";
import { cleanEnv, interleave, median, row } from "./report.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const home = mkdtempSync(join(tmpdir(), "chimera-bench-"));
/** Starts a program, asks it once, and gives the milliseconds until its answer. */
async function timeToAnswer(args) {
  const program = startAcp(args, { env: cleanEnv({ CHIMERA_HOME: home }) });
  await program.initialize();
  const elapsed = program.age();
  await program.end();
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
