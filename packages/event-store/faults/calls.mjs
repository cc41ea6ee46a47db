// kill -9 at each of the first calls that change the disk, one process per call. Needs strace.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseAcks, verifyStore } from "./verify.mjs";

const WRITER = new URL("./writer.mjs", import.meta.url).pathname;
/** Each with how often a run of the writer makes it, at least. */
const CALLS = [
  { call: "pwrite64", times: Number.POSITIVE_INFINITY },
  { call: "fdatasync", times: Number.POSITIVE_INFINITY },
  { call: "rename", times: 30 },
  { call: "link", times: 2 },
  { call: "fsync", times: 10 },
  { call: "unlink", times: 2 },
];

function runUnderStrace(root, call, when) {
  return new Promise((resolve) => {
    const child = spawn(
      "strace",
      [
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        `trace=${call}`,
        "-e",
        `inject=${call}:signal=SIGKILL:when=${when}`,
        process.execPath,
        WRITER,
        root,
        "2",
        "300",
      ],
      // `when` counts per thread: one thread for the asynchronous calls makes it a count per process.
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, UV_THREADPOOL_SIZE: "1", NODE_EXTRA_CA_CERTS: "" },
      },
    );
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    child.on("error", (error) => resolve({ text, error }));
    child.on("close", (code, signal) => resolve({ text, killed: signal === "SIGKILL" || code === 137 }));
  });
}

export async function killAtCalls({ upTo }) {
  const trials = CALLS.flatMap(({ call, times }) =>
    Array.from({ length: Math.min(upTo, times) }, (_, i) => ({ call, when: i + 1 })),
  );
  const expected = trials.length;
  const failures = [];
  let executed = 0;
  const worker = async () => {
    for (let trial = trials.shift(); trial !== undefined; trial = trials.shift()) {
      const root = await mkdtemp(join(tmpdir(), "faults-calls-"));
      const { text, killed, error } = await runUnderStrace(root, trial.call, trial.when);
      const what = `${trial.call} ${trial.when}`;
      if (error !== undefined) failures.push(`${what}: ${error.message}`);
      else if (!killed) failures.push(`${what}: the process was not killed`);
      else executed++;
      failures.push(...(await verifyStore(root, parseAcks(text))).map((problem) => `${what}: ${problem}`));
      await rm(root, { recursive: true, force: true });
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return { name: "kill -9 at each call", executed, expected, failures };
}
