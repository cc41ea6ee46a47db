// A scripted ACP agent as the engine of otter, beside the built-in engine, and beside sandbox-agent where SANDBOX_AGENT names its binary.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { startChatModel } from "./chat-model.mjs";
import { freePort, isHealthy, post } from "./http-client.mjs";
import { cleanEnv, interleave, median, row } from "./report.mjs";

const DELTAS = 20_000;
const root = join(import.meta.dirname, "..");
const scripted = join(root, "packages", "acp-engine", "test", "scripted-agent.mjs");
const place = mkdtempSync(join(tmpdir(), "chimera-bench-"));
const rival = process.env.SANDBOX_AGENT;
const keepAlive = new Agent({ keepAlive: true });
const children = [];
const model = await startChatModel();
try {
  const ours = await startOtter("engine", {
    engine: "scripted",
    engines: { scripted: { command: process.execPath, args: [scripted] } },
  });
  const builtIn = await startOtter("built-in", { model: "openai/gpt-4o" });
  const theirs = rival ? await startRival() : undefined;
  await firstChunks(ours, builtIn, theirs);
  await floods(ours, theirs);
  for (const readers of [2, 10]) {
    const { lost } = await ours.flood(readers, true);
    row({
      name: `engine: deltas lost by ${readers} readers, one of them slow`,
      ours: lost,
      unit: "deltas",
      target: "0 deltas",
    });
  }
} finally {
  for (const child of children) child.kill("SIGKILL");
  keepAlive.destroy();
  await model.close();
  rmSync(place, { recursive: true, force: true });
}

async function firstChunks(ours, builtIn, theirs) {
  const contestants = { ours: ours.first, builtIn: builtIn.first, ...(theirs && { theirs: theirs.first }) };
  const samples = await interleave(contestants, { runs: 40, warmup: 10 });
  const mine = median(samples.ours);
  row({
    name: "engine: first chunk over HTTP, to the built-in engine",
    ours: mine,
    floor: median(samples.builtIn),
    unit: "ms",
    target: 1.15,
  });
  if (theirs)
    row({
      name: "engine: first chunk over HTTP, to sandbox-agent",
      ours: mine,
      floor: median(samples.theirs),
      unit: "ms",
    });
}

async function floods(ours, theirs) {
  const contestants = { ours: () => ours.flood(1), ...(theirs && { theirs: () => theirs.flood(1) }) };
  const samples = await interleave(contestants, { runs: 5, warmup: 1 });
  const figureOf = (name, key) => (samples[name] ? median(samples[name].map((one) => one[key])) : undefined);
  const pair = (key) => ({ ours: figureOf("ours", key), ...(theirs && { floor: figureOf("theirs", key) }) });
  row({
    name: "engine: deltas to one reader",
    ...pair("perSecond"),
    unit: "deltas/s",
    ...(theirs && { target: 2 }),
    better: "higher",
  });
  row({ name: "engine: CPU of the server per delta", ...pair("cpuUs"), unit: "us", ...(theirs && { target: 0.7 }) });
  row({
    name: "engine: deltas lost by one reader",
    ours: Math.max(...samples.ours.map(({ lost }) => lost)),
    unit: "deltas",
    target: "0 deltas",
  });
  if (theirs)
    row({ name: "sandbox-agent: deltas lost by one reader", ours: figureOf("theirs", "lost"), unit: "deltas" });
}

// --- internal ---

async function start(command, args, env, port, path) {
  const child = spawn(command, args, { env, cwd: place, stdio: "ignore" });
  children.push(child);
  while (!(await isHealthy(port, path))) await new Promise((resolve) => setTimeout(resolve, 10));
  return child;
}

async function startOtter(name, config) {
  const home = join(place, name);
  mkdirSync(home);
  writeFileSync(join(home, "config.json"), JSON.stringify(config));
  const port = await freePort();
  const env = cleanEnv({ CHIMERA_HOME: home, OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "key" });
  const cli = join(root, "apps", "otter", "dist", "cli.js");
  const child = await start(process.execPath, [cli, "serve", "--port", String(port)], env, port);
  const open = async () => (await post(port, "/session", {}, keepAlive)).session_id;
  const stream = (id) => openStream(port, `/sessions/${id}/events?until=never&from=live`, "event: text_delta");
  const prompt = (id, text) => post(port, `/sessions/${id}/turns`, { prompt: text }, keepAlive);
  const warm = await open();
  return {
    first: async () => {
      const reader = await stream(warm);
      const [first, last] = ["event: text_delta", "event: agent_result"].map(reader.sees);
      const started = performance.now();
      prompt(warm, config.engine ? "say 1 " : "1");
      await first;
      const took = performance.now() - started;
      await last;
      reader.close();
      return took;
    },
    async flood(count, hasSlow = false) {
      const id = await open();
      const readers = await Promise.all(Array.from({ length: count }, () => stream(id)));
      if (hasSlow) readers[0].slow();
      return measured(child, readers, async () => {
        const ends = readers.map((reader) => reader.sees("event: agent_result"));
        await prompt(id, `flood ${DELTAS}`);
        await Promise.all(ends);
      });
    },
  };
}

/** It starts a closed list of agents, of which it finds this one by its name on the path. */
async function startRival() {
  const bin = join(place, "bin");
  mkdirSync(bin);
  for (const name of ["codex", "codex-acp"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${process.execPath} ${scripted}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const port = await freePort();
  const env = cleanEnv({ PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter), HOME: place });
  const args = ["server", "--no-token", "--no-telemetry", "--host", "127.0.0.1", "--port", String(port)];
  const child = await start(rival, args, env, port, "/v1/health");
  let servers = 0;
  let ids = 0;
  const open = async () => {
    const path = `/v1/acp/bench${servers++}?agent=codex`;
    const ask = (method, params) => post(port, path, { jsonrpc: "2.0", id: ++ids, method, params }, keepAlive);
    await ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { result } = await ask("session/new", { cwd: place, mcpServers: [] });
    return {
      path,
      prompt: (text) => ask("session/prompt", { sessionId: result.sessionId, prompt: [{ type: "text", text }] }),
    };
  };
  const stream = ({ path }) => openStream(port, path.split("?")[0], "agent_message_chunk");
  const warm = await open();
  const warmReader = await stream(warm);
  return {
    first: async () => {
      const started = performance.now();
      const seen = warmReader.sees("agent_message_chunk");
      const done = warm.prompt("say 1 ");
      await seen;
      const took = performance.now() - started;
      await done;
      return took;
    },
    async flood(count) {
      const session = await open();
      const readers = await Promise.all(Array.from({ length: count }, () => stream(session)));
      return measured(child, readers, async () => {
        await session.prompt(`flood ${DELTAS}`);
        await Promise.all(readers.map((reader) => reader.quiet()));
      });
    },
  };
}

/** Deltas of the flood that arrived by the second, what they cost the server, and how many did not. */
async function measured(child, readers, work) {
  const before = cpuUs(child.pid);
  const started = performance.now();
  await work();
  const cpu = cpuUs(child.pid) - before;
  const counts = readers.map((reader) => reader.words());
  const took = Math.max(...readers.map((reader) => reader.lastAt())) - started;
  for (const reader of readers) reader.close();
  const least = Math.min(...counts);
  return { perSecond: least / (took / 1000), cpuUs: cpu / DELTAS, lost: DELTAS - least };
}

/** A reader that keeps what it is sent and looks at it afterwards, so that it is never what is measured. */
async function openStream(port, path, delta) {
  const asked = get({ port, host: "127.0.0.1", path, agent: false, headers: { accept: "text/event-stream" } });
  const [response] = await once(asked, "response");
  if (response.statusCode !== 200) throw new Error(`GET ${path} answered ${response.statusCode}`);
  const chunks = [];
  let lastAt = 0;
  let wanted = [];
  let tail = "";
  response.on("error", () => {});
  response.on("data", (bytes) => {
    chunks.push(bytes);
    const text = tail + bytes.latin1Slice();
    if (text.includes(delta)) lastAt = performance.now();
    for (const one of wanted) if (text.includes(one.text)) one.resolve();
    wanted = wanted.filter((one) => !text.includes(one.text));
    tail = text.slice(-40);
  });
  return {
    sees: (text) =>
      new Promise((resolve) => {
        wanted.push({ text, resolve });
      }),
    /** Nothing came for a while: its end is not announced. */
    async quiet() {
      for (let size = -1; size !== chunks.length; ) {
        size = chunks.length;
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    },
    slow() {
      response.on("data", () => {
        response.pause();
        setTimeout(() => response.resume(), 2);
      });
    },
    lastAt: () => lastAt,
    /** How many of the numbers from 0 up have come. */
    words() {
      const said = new Set();
      for (const [, text] of Buffer.concat(chunks)
        .toString()
        .matchAll(/"text":"((?:\d+ )+)"/g))
        for (const word of text.trim().split(" ")) said.add(word);
      return said.size;
    },
    close: () => response.destroy(),
  };
}

/** Processor time of a process so far; zero where the system does not say. */
function cpuUs(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10_000;
  } catch {
    return 0;
  }
}
