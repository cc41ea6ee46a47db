// kill -9 at a random moment while four sessions are written, over and over on the same store.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAcks, verifyStore } from "./verify.mjs";

const WRITER = new URL("./writer.mjs", import.meta.url).pathname;

/** Runs a writer, kills it `delay` ms after its first acknowledgement, returns what it printed. */
export function runAndKill(root, delay, args = []) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [WRITER, root, "4", "Infinity", ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_EXTRA_CA_CERTS: "" },
    });
    let text = "";
    child.stdout.once("data", () => setTimeout(() => child.kill("SIGKILL"), delay));
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    child.on("close", () => resolve(text));
  });
}

export async function killRounds({ rounds }) {
  const failures = [];
  let executed = 0;
  let root = "";
  let acks = new Map();
  for (let round = 0; round < rounds; round++) {
    // A fresh store now and then, so that logs stay short enough to be verified in full each round.
    if (round % 20 === 0) {
      if (root !== "") await rm(root, { recursive: true, force: true });
      root = await mkdtemp(join(tmpdir(), "faults-kill-"));
      acks = new Map();
    }
    const text = await runAndKill(root, Math.random() * 30);
    if (text === "") failures.push(`round ${round}: nothing was acknowledged`);
    parseAcks(text, acks);
    failures.push(...(await verifyStore(root, acks)).map((problem) => `round ${round}: ${problem}`));
    executed++;
  }
  await rm(root, { recursive: true, force: true });
  return { name: "kill -9 with 4 writers", executed, expected: rounds, failures };
}
