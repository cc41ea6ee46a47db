// kill -9 at each of the first calls that change the disk, one process per call. Needs strace.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { injecting, oneThread } from "./strace.mjs";
import { parseAcks, verifyStore } from "./verify.mjs";

const WRITER = new URL("./writer.mjs", import.meta.url).pathname;
/** Each with how often a run of the writer makes it, at least. Some are made only for sessions that are there already. */
const CALLS = [
  { call: "pwrite64", times: Number.POSITIVE_INFINITY },
  { call: "fdatasync", times: Number.POSITIVE_INFINITY },
  { call: "rename", times: 80 },
  { call: "fsync", times: 80 },
  { call: "mkdir", times: 4 },
  { call: "link", times: 2, reopens: true },
  { call: "unlink", times: 2, reopens: true },
];

function runUnderStrace(root, { call, when }) {
  return new Promise((resolve) => {
    const [file, args] = injecting(`${call}:signal=SIGKILL:when=${when}`, process.execPath, WRITER, root, "2", "300");
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"], env: oneThread });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    child.on("error", (error) => resolve({ text, error }));
    child.on("close", (code, signal) => resolve({ text, killed: signal === "SIGKILL" || code === 137 }));
  });
}

/** One process killed at one call. Returns what is wrong then. */
async function attempt(root, trial) {
  const acks = new Map();
  if (trial.reopens) {
    const { stdout } = await promisify(execFile)(process.execPath, [WRITER, root, "2", "3"], { env: oneThread });
    parseAcks(stdout, acks);
  }
  const { text, killed, error } = await runUnderStrace(root, trial);
  parseAcks(text, acks);
  const problems = await verifyStore(root, acks);
  if (error !== undefined) problems.unshift(error.message);
  else if (!killed) problems.unshift("the process was not killed");
  return problems;
}

export async function killAtCalls({ upTo }) {
  const trials = CALLS.flatMap(({ times, ...call }) =>
    Array.from({ length: Math.min(upTo, times) }, (_, i) => ({ ...call, when: i + 1 })),
  );
  const expected = trials.length;
  const failures = [];
  let executed = 0;
  const worker = async () => {
    for (let trial = trials.shift(); trial !== undefined; trial = trials.shift()) {
      const root = await mkdtemp(join(tmpdir(), "faults-calls-"));
      const problems = await attempt(root, trial);
      failures.push(...problems.map((problem) => `${trial.call} ${trial.when}: ${problem}`));
      if (!problems.includes("the process was not killed")) executed++;
      await rm(root, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return { name: "kill -9 at each call", executed, expected, failures };
}
