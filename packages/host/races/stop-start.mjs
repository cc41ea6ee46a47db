// Owners come, go, die and are stopped, while others clean up after them: no two may ever hold the pidfile at once.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { stopAll } from "@chimera/host/pidfile";

const OWNER = fileURLToPath(new URL("owner.mjs", import.meta.url));
const COMPETITORS = 4;

/** @returns {Promise<{ owned: number, violations: number, stopped: number }>} */
export async function raceStopStart(wanted) {
  const directory = await mkdtemp(join(tmpdir(), "chimera-races-"));
  const tally = { owned: 0, violations: 0, stopped: 0 };
  const compete = async () => {
    while (tally.owned < wanted) await runOwner([directory, join(directory, "witness"), "25"], tally);
  };
  const stop = async () => {
    while (tally.owned < wanted) {
      const results = await stopAll({ directory, prefix: "race", timeout: 1 });
      tally.stopped += results.filter(({ stopped }) => stopped).length;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await Promise.all([stop(), ...Array.from({ length: COMPETITORS }, compete)]);
  await rm(directory, { recursive: true });
  return tally;
}

function runOwner(args, tally) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [OWNER, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line === "VIOLATION") tally.violations++;
      else tally.owned++;
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0 || signal !== null) resolve();
      else reject(new Error(`a competitor ended with ${code}`));
    });
  });
}
