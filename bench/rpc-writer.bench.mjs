// CPU that 100,000 notifications cost the writing process, against bare writes in the same batches to the same pipe.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createConnection } from "../packages/ndjson-rpc/dist/index.js";
import { takeOverStdio } from "../packages/ndjson-rpc/dist/stdio.js";
import { cleanEnv, interleave, median, row } from "./report.mjs";

const COUNT = 100_000;
const WARMUP = 20_000;
const BATCH = 100;
const METHOD = "session/update";

const params = (i) => ({
  sessionId: "otter-20260425T091208-7c8a4f1e",
  update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: `token ${i} ` } },
});
const encoded = (i) =>
  `{"jsonrpc":"2.0","method":"${METHOD}","params":{"sessionId":"otter-20260425T091208-7c8a4f1e","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"token ${i} "}}}}`;

const modes = {
  raw: rawWriter((i) => JSON.stringify({ jsonrpc: "2.0", method: METHOD, params: params(i) })),
  rawEncoded: rawWriter(encoded),
  notify: connectionWriter((connection, i) => connection.notify(METHOD, params(i))),
  notifyEncoded: connectionWriter((connection, i) => connection.notifyEncoded(encoded(i))),
};

if (process.argv[2]) await write(modes[process.argv[2]]);
else await compare();

async function compare() {
  const contestants = Object.fromEntries(Object.keys(modes).map((mode) => [mode, () => cpuOf(mode)]));
  const samples = await interleave(contestants, { runs: 15 });
  const ms = (mode) => median(samples[mode]);
  row({ name: "100k notify, CPU", ours: ms("notify"), floor: ms("raw"), unit: "ms", target: 1.6 });
  row({ name: "100k notifyEncoded, CPU", ours: ms("notifyEncoded"), floor: ms("rawEncoded"), unit: "ms", target: 1.1 });
}

function cpuOf(mode) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), mode], {
      stdio: ["pipe", "pipe", "pipe"],
      env: cleanEnv(),
    });
    let lines = 0;
    let report = "";
    child.stdout.on("data", (chunk) => {
      for (let i = chunk.indexOf(10); i !== -1; i = chunk.indexOf(10, i + 1)) lines++;
    });
    child.stderr.on("data", (chunk) => {
      report += chunk;
    });
    child.on("close", () =>
      lines === WARMUP + COUNT ? resolve(Number(report)) : reject(new Error(`${lines} lines ${report}`)),
    );
  });
}

/** One batch per turn of the event loop, as a streaming model delivers it; compiling the code is not what is measured. */
async function write(start) {
  const { send, finish } = start();
  await stream(send, WARMUP);
  const before = process.cpuUsage();
  await stream(send, COUNT);
  await finish();
  const { user, system } = process.cpuUsage(before);
  process.stderr.write(String((user + system) / 1000), () => process.exit(0));
}

async function stream(send, count) {
  for (let i = 0; i < count; i += BATCH) {
    for (let j = i; j < i + BATCH; j++) send(j);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function rawWriter(line) {
  return () => {
    let queue = "";
    const flush = () => {
      const text = queue;
      queue = "";
      process.stdout.write(text);
    };
    return {
      send(i) {
        if (queue === "") setImmediate(flush);
        queue += `${line(i)}\n`;
      },
      finish: () => new Promise((resolve) => process.stdout.write("", resolve)),
    };
  };
}

function connectionWriter(notify) {
  return () => {
    const connection = createConnection(takeOverStdio());
    return { send: (i) => notify(connection, i), finish: () => connection.close() };
  };
}
