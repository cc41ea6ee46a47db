// Requests per second through a real child process, and its start, against a bare echo and the official SDK.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { cleanEnv, interleave, median, row } from "./report.mjs";

const REQUESTS = 20_000;
const WINDOW = 256;

const frame = (id) =>
  `{"jsonrpc":"2.0","id":${id},"method":"session/new","params":{"cwd":"/workspace","mcpServers":[]}}\n`;

const servers = {
  ours: serveOurs,
  vscode: serveVscode,
  sdk: serveSdk,
  raw: serveRaw,
};

if (process.argv[2]) await servers[process.argv[2]]();
else await compare();

async function compare() {
  const runs = Object.fromEntries(Object.keys(servers).map((name) => [name, () => requestsPerSecond(name)]));
  const samples = await interleave(runs, { runs: 5 });
  const figure = (name, floor, target) =>
    row({ name, ours: median(samples.ours), floor: median(samples[floor]), unit: "/s", target, better: "higher" });
  figure("requests per second, floor: bare echo", "raw");
  figure("requests per second, floor: official SDK", "sdk", 1.5);
  figure("requests per second, floor: vscode-jsonrpc", "vscode");
  const starts = await interleave({ ours: () => startMs("ours"), raw: () => startMs("raw") }, { runs: 15 });
  row({
    name: "spawn to first answer",
    ours: median(starts.ours),
    floor: median(starts.raw),
    unit: "ms",
    target: 1.25,
  });
}

function start(name) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), name], {
    stdio: ["pipe", "pipe", "inherit"],
    env: cleanEnv(),
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  return {
    child,
    stop: () => {
      child.stdin.end();
      return exited;
    },
  };
}

async function startMs(name) {
  const started = performance.now();
  const { child, stop } = start(name);
  child.stdin.write(frame(0));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const elapsed = performance.now() - started;
  await stop();
  return elapsed;
}

/** Keeps WINDOW requests in flight; only newlines are counted here, so that the server is what is measured. */
async function requestsPerSecond(name) {
  const { child, stop } = start(name);
  let answered = 0;
  let sent = 0;
  let finish = () => {};
  const send = (count) => {
    let text = "";
    for (let i = 0; i < count; i++) text += frame(sent++);
    child.stdin.write(text);
  };
  child.stdout.on("data", (chunk) => {
    let lines = 0;
    for (let i = chunk.indexOf(10); i !== -1; i = chunk.indexOf(10, i + 1)) lines++;
    answered += lines;
    if (answered >= REQUESTS) finish();
    else send(Math.min(lines, REQUESTS - sent));
  });
  const started = performance.now();
  await new Promise((resolve) => {
    finish = resolve;
    send(WINDOW);
  });
  const elapsed = performance.now() - started;
  await stop();
  return (REQUESTS / elapsed) * 1000;
}

async function serveOurs() {
  const { createConnection, defineMethods } = await import("../packages/ndjson-rpc/dist/index.js");
  const { takeOverStdio } = await import("../packages/ndjson-rpc/dist/stdio.js");
  const methods = defineMethods({ "session/new": { handle: () => ({ sessionId: "s1" }) } });
  await createConnection({ ...takeOverStdio(), methods }).closed;
  process.exit(0);
}

async function serveVscode() {
  const { createNdjsonMessageConnection } = await import("../packages/ndjson-rpc/dist/vscode-jsonrpc.js");
  const connection = createNdjsonMessageConnection(process.stdin, process.stdout);
  connection.onRequest("session/new", () => ({ sessionId: "s1" }));
  connection.onClose(() => process.exit(0));
  connection.listen();
}

async function serveSdk() {
  const { agent, ndJsonStream } = await import("@agentclientprotocol/sdk");
  process.stdin.on("end", () => process.exit(0));
  agent({ name: "bench" })
    .onRequest("session/new", () => ({ sessionId: "s1" }))
    .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
}

function serveRaw() {
  let rest = "";
  let queue = "";
  const flush = () => {
    const text = queue;
    queue = "";
    process.stdout.write(text);
  };
  process.stdin.setEncoding("utf8");
  process.stdin.on("end", () => process.exit(0));
  process.stdin.on("data", (text) => {
    rest += text;
    let start = 0;
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n", start)) {
      const { id } = JSON.parse(rest.slice(start, end));
      if (queue === "") setImmediate(flush);
      queue += `${JSON.stringify({ jsonrpc: "2.0", id, result: { sessionId: "s1" } })}\n`;
      start = end + 1;
    }
    rest = rest.slice(start);
  });
}
