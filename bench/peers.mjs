// otter beside other agents, from outside: `node bench/peers.mjs [--only otter,opencode] [--rounds 5] [--json peers.json]`.
// Agents come from npm and are kept in $XDG_CACHE_HOME/chimera-bench-peers, two gigabytes in all; one that does not install or does not
// answer is listed with its reason. A life is a fresh process in a home of its own, whose environment has nothing of the caller's but
// `PATH`; all take turns, ask `chat-model.mjs` on loopback, and have LIMIT_MS. Linux, because memory and CPU are read from /proc.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { firstChunk, startAcp } from "./acp-client.mjs";
import { startChatModel } from "./chat-model.mjs";
import { freePort, isHealthy, post } from "./http-client.mjs";
import { median, milliseconds } from "./report.mjs";

const LIMIT_MS = 240_000;
const INSTALL_MS = 600_000;
/** Agents may need this Node, which also comes from npm. */
const NODE = { [`node-${process.platform}-${process.arch}`]: "24.21.0" };
const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "chimera-bench-peers");
const installed = (name, path) => join(cache, name, "node_modules", path);
const node = (name) => installed(name, `node-${process.platform}-${process.arch}/bin/node`);
const otter = join(import.meta.dirname, "..", "apps", "otter", "dist", "cli.js");
const json = (value) => JSON.stringify(value);

const OPENAI = (model) => ({ OPENAI_API_KEY: "x", OPENAI_BASE_URL: model });
const OPENCODE_OFFLINE = {
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
};
const opencode = `opencode-${process.platform}-${process.arch}/bin/opencode`;
const opencodeHome = (model) => ({
  ".config/opencode/opencode.json": json({
    ...{ autoupdate: false, share: "disabled", model: "mock/mock", small_model: "mock/mock" },
    enabled_providers: ["mock"],
    provider: {
      mock: {
        npm: "@ai-sdk/openai-compatible",
        name: "mock",
        options: { baseURL: model, apiKey: "x" },
        models: { mock: { name: "mock", tool_call: true, limit: { context: 2e6, output: 1e6 } } },
      },
    },
  }),
});

/**
 * `packages` of npm, none for what is built here; `command` over stdio; `env` and `files` of its home for a model at that base URL; `auth`
 * where `session/new` asks for it. `http`: the same agent's own server.
 */
const PEERS = {
  otter: {
    command: [process.execPath, otter, "acp", "--log-level", "silent", "--model", "gpt-4o"],
    env: OPENAI,
    http: {
      command: (port) => [
        process.execPath,
        otter,
        "serve",
        "--port",
        port,
        "--log-level",
        "silent",
        "--model",
        "gpt-4o",
      ],
      health: "/health",
      create: async (port) => (await post(port, "/session", {})).session_id,
      events: (id) => `/sessions/${id}/events`,
      prompt: (port, id, prompt) => post(port, `/sessions/${id}/turns`, { prompt }),
      delta: "event: text_delta",
      end: "event: agent_result",
    },
  },
  opencode: {
    packages: { "opencode-ai": "1.18.33" },
    command: [installed("opencode", opencode), "acp"],
    env: () => OPENCODE_OFFLINE,
    files: opencodeHome,
    http: {
      command: (port) => [installed("opencode", opencode), "serve", "--port", port, "--hostname", "127.0.0.1"],
      health: "/global/health",
      create: async (port) => (await post(port, "/session", {})).id,
      events: () => "/event",
      prompt: (port, id, text) =>
        post(port, `/session/${id}/message`, {
          model: { providerID: "mock", modelID: "mock" },
          parts: [{ type: "text", text }],
        }),
      delta: '"type":"message.part.delta"',
      end: '"type":"session.idle"',
    },
  },
  qwen: {
    packages: { "@qwen-code/qwen-code": "0.24.4", ...NODE },
    command: [node("qwen"), installed("qwen", "@qwen-code/qwen-code/cli-entry.js"), "--acp", "--auth-type", "openai"],
    auth: "openai",
    env: (model) => ({ ...OPENAI(model), OPENAI_MODEL: "mock" }),
    files: () => ({
      ".qwen/settings.json": json({
        security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
        model: { name: "mock" },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
        telemetry: { enabled: false },
      }),
    }),
    http: {
      command: (port) => [
        ...[node("qwen"), installed("qwen", "@qwen-code/qwen-code/cli-entry.js"), "serve"],
        ...["--port", port, "--no-web"],
      ],
      health: "/health",
      // Without a scope of its own a session is the one that the directory has.
      create: async (port, cwd) => (await post(port, "/session", { cwd, sessionScope: "thread" })).sessionId,
      // Its default ends the stream of a reader that is 256 events behind.
      events: (id) => `/session/${id}/events?maxQueued=2048`,
      prompt: (port, id, text) => post(port, `/session/${id}/prompt`, { prompt: [{ type: "text", text }] }),
      delta: '"agent_message_chunk"',
      end: "event: turn_complete",
    },
  },
  gemini: {
    packages: { "@google/gemini-cli": "0.61.0", ...NODE },
    command: [node("gemini"), installed("gemini", "@google/gemini-cli/bundle/gemini.js"), "--acp"],
    auth: "gemini-api-key",
    env: (model) => ({
      GEMINI_API_KEY: "x",
      GOOGLE_GEMINI_BASE_URL: model.replace(/\/v1$/, ""),
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    }),
    files: () => ({
      ".gemini/settings.json": json({
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
        model: { name: "gemini-2.5-flash" },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        telemetry: { enabled: false },
      }),
    }),
  },
  claude: {
    packages: { "@agentclientprotocol/claude-agent-acp": "0.99.1", ...NODE },
    command: [node("claude"), installed("claude", "@agentclientprotocol/claude-agent-acp/dist/index.js")],
    env: (model) => ({
      ANTHROPIC_BASE_URL: model.replace(/\/v1$/, ""),
      ...{ ANTHROPIC_API_KEY: "x", ANTHROPIC_MODEL: "mock", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1" },
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    files: () => ({
      ".claude.json": json({
        hasCompletedOnboarding: true,
        customApiKeyResponses: { approved: ["x"], rejected: [] },
      }),
    }),
  },
  codex: {
    packages: { "@zed-industries/codex-acp": "0.16.0" },
    command: [installed("codex", `@zed-industries/codex-acp-${process.platform}-${process.arch}/bin/codex-acp`)],
    auth: "openai-api-key",
    env: () => ({ OPENAI_API_KEY: "x", CODEX_API_KEY: "x", MOCK_KEY: "x" }),
    files: (model) => ({
      ".codex/config.toml": `model = "mock"
model_provider = "mock"
check_for_update_on_startup = false
[model_providers.mock]
name = "mock"
base_url = "${model}"
wire_api = "responses"
env_key = "MOCK_KEY"
[analytics]
enabled = false
`,
    }),
  },
};

const { values } = parseArgs({
  options: { only: { type: "string" }, rounds: { type: "string", default: "5" }, json: { type: "string" } },
});
const chosen = Object.keys(PEERS).filter((name) => values.only === undefined || values.only.split(",").includes(name));
/** Why a peer, or its server, is left out. */
const reasons = {};
const ready = chosen.filter((name) => isInstalled(name));
const model = await startChatModel();
const stdio = await rounds(ready, throughAcp);
const http = await rounds(
  ready.filter((name) => PEERS[name].http),
  throughHttp,
);
await model.close();
report("ACP over stdio", stdio);
report("its own HTTP server", http);
for (const [name, reason] of Object.entries(reasons)) console.log(`not measured: ${name}: ${reason}`);
if (values.json) writeFileSync(values.json, json({ node: process.version, stdio, http, reasons }));
process.exit();

function isInstalled(name) {
  const { packages } = PEERS[name];
  if (!packages) return true;
  const directory = join(cache, name);
  const file = join(directory, "package.json");
  const manifest = json({ private: true, dependencies: packages });
  const lock = join(directory, "node_modules", ".package-lock.json");
  if (existsSync(lock) && readFileSync(file, "utf8").trim() === manifest) return true;
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, manifest);
  try {
    const options = { cwd: directory, stdio: ["ignore", "ignore", "pipe"], encoding: "utf8", timeout: INSTALL_MS };
    execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--force"], options);
    return true;
  } catch (error) {
    reasons[name] = `npm install: ${String(error.stderr || error.message)
      .trim()
      .split("\n")
      .at(-1)}`;
    return false;
  }
}

/** So many lives of each, in turn; one that fails has no further lives. */
async function rounds(names, live) {
  const lives = {};
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const label = live === throughAcp ? name : `${name}, its server`;
      if (reasons[label]) continue;
      try {
        lives[name] = [...(lives[name] ?? []), await life(PEERS[name], live)];
      } catch (error) {
        reasons[label] = String(error.message).split("\n")[0];
        delete lives[name];
      }
    }
  }
  return lives;
}

/** Runs one process of an agent in a home of its own, and ends it with all that it started, however the life ends. */
async function life(peer, live) {
  const home = mkdtempSync(join(tmpdir(), "bench-peers-"));
  const cwd = join(home, "project");
  mkdirSync(cwd);
  for (const [path, text] of Object.entries(peer.files?.(model.url) ?? {})) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const { PATH } = process.env;
  const env = { PATH, HOME: home, LANG: "C.UTF-8", TERM: "dumb", NO_PROXY: "127.0.0.1", ...peer.env(model.url) };
  const at = { cwd, env, stopped: new AbortController() };
  const tooLong = pause(LIMIT_MS, undefined, { signal: at.stopped.signal }).then(() => {
    throw new Error(`it took more than ${LIMIT_MS / 1000} s`);
  });
  try {
    return await Promise.race([live(peer, at), tooLong]);
  } finally {
    at.stopped.abort();
    tooLong.catch(() => {});
    await end(at.pid);
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

async function throughAcp(peer, at) {
  const [command, ...args] = peer.command;
  const program = startAcp(args, { command, cwd: at.cwd, env: at.env, detached: true });
  at.pid = program.pid;
  await program.initialize();
  const initialize = program.age();
  const open = () =>
    program.open(at.cwd).catch(async (error) => {
      if (!peer.auth) throw error;
      await program.call("authenticate", { methodId: peer.auth });
      return program.open(at.cwd);
    });
  const id = await open();
  const opened = program.age();
  await pause(1000);
  const idle = useOf(at.pid).memory;
  const second = await milliseconds(open);
  const firsts = [];
  for (let n = 0; n < 6; n++) firsts.push(await firstChunk(program, id, "deltas=1"));
  const before = useOf(at.pid).cpu;
  const short = await milliseconds(async () => program.prompt(await open(), "deltas=2000"));
  const { cpu } = useOf(at.pid);
  const long = await milliseconds(async () => program.prompt(await open(), "deltas=20000"));
  const sessions = [];
  for (let n = 0; n < 50; n++) sessions.push(await open());
  const many = await milliseconds(() => Promise.all(sessions.map((one) => program.prompt(one, "deltas=100"))));
  return {
    "initialize, ms": initialize,
    "session/new, ms": opened,
    "second session/new, ms": second,
    "idle, MiB": idle,
    "warm prompt to first chunk, ms": median(firsts.slice(1)),
    "chunks/s of 2,000": 2000 / (short / 1000),
    "CPU of 2,000, s": cpu - before,
    "chunks/s of 20,000": 20_000 / (long / 1000),
    "50 sessions x 100, ms": many,
    "their memory, MiB": useOf(at.pid).memory,
  };
}

async function throughHttp({ http }, at) {
  const port = String(await freePort());
  const [command, ...args] = http.command(port);
  const started = performance.now();
  const child = spawn(command, args, { cwd: at.cwd, env: at.env, stdio: "ignore", detached: true });
  at.pid = child.pid;
  const failed = new Promise((_, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  failed.catch(() => {});
  const healthy = async () => {
    while (!at.stopped.signal.aborted && !(await isHealthy(port, http.health))) await pause(3);
    return performance.now() - started;
  };
  const start = await Promise.race([healthy(), failed]);
  const create = () => http.create(port, at.cwd);
  const timed = (text, readers) => Promise.race([turn(http, port, { create, text, readers }), failed]);
  const first = await milliseconds(create);
  const second = await milliseconds(create);
  const firsts = [];
  for (let n = 0; n < 6; n++) firsts.push((await timed("deltas=1", 1)).first);
  return {
    "start, ms": start,
    "first session, ms": first,
    "second session, ms": second,
    "warm prompt to first chunk, ms": median(firsts.slice(1)),
    "2,000 deltas to one reader, ms": (await timed("deltas=2000", 1)).all,
    "to ten readers, ms": (await timed("deltas=2000", 10)).all,
    "memory, MiB": useOf(at.pid).memory,
  };
}

/** Milliseconds from a prompt in a new session to the first piece of its answer, and until every reader has seen its end. */
async function turn(http, port, { create, text, readers }) {
  const id = await create();
  const streams = await Promise.all(Array.from({ length: readers }, () => follow(port, http.events(id))));
  const asked = performance.now();
  const since = () => performance.now() - asked;
  const first = streams[0].sees(http.delta).then(since);
  const ends = streams.map((stream) => stream.sees(http.end));
  try {
    const [, begun] = await Promise.all([http.prompt(port, id, text), first, ...ends]);
    return { first: begun, all: since() };
  } finally {
    for (const stream of streams) stream.close();
  }
}

/** A reader of the events to come: `sees` resolves when a text has come by, and fails when the stream ends before. */
async function follow(port, path) {
  const [response] = await once(get({ port, host: "127.0.0.1", path, agent: false }), "response");
  const wanted = new Map();
  let tail = "";
  response.setEncoding("latin1").on("data", (chunk) => {
    const text = tail + chunk;
    for (const [part, { resolve }] of wanted) if (text.includes(part)) resolve();
    tail = chunk.slice(-60);
  });
  response
    .on("error", () => {})
    .on("close", () => {
      for (const { reject } of wanted.values()) reject(new Error(`the stream of ${path} ended`));
    });
  const sees = (part) => new Promise((resolve, reject) => wanted.set(part, { resolve, reject }));
  return { sees, close: () => response.destroy() };
}

/** The resident memory in MiB and the seconds of CPU of a process with all that it started. */
function useOf(pid) {
  const all = familyOf(pid).map((one) => {
    try {
      const status = readFileSync(`/proc/${one}/smaps_rollup`, "utf8");
      const times = readFileSync(`/proc/${one}/stat`, "utf8").split(") ").at(-1).split(" ").slice(11, 15);
      const ticks = times.reduce((sum, time) => sum + Number(time), 0);
      return { memory: Number(/Rss:\s+(\d+)/.exec(status)[1]) / 1024, cpu: ticks / 100 };
    } catch {
      return { memory: 0, cpu: 0 };
    }
  });
  return all.reduce((sum, { memory, cpu }) => ({ memory: sum.memory + memory, cpu: sum.cpu + cpu }));
}

/** A process and its descendants. */
function familyOf(pid) {
  const parents = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const children = new Map();
  for (const child of parents) {
    try {
      const parent = Number(readFileSync(`/proc/${child}/stat`, "utf8").split(") ").at(-1).split(" ")[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(child)]);
    } catch {
      // It ended meanwhile.
    }
  }
  const found = [pid];
  for (const one of found) found.push(...(children.get(one) ?? []));
  return found;
}

/** Ends a process and all that it started, each by its id. */
async function end(pid) {
  if (pid === undefined) return;
  for (const one of familyOf(pid)) {
    try {
      process.kill(one, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
  for (let n = 0; n < 100 && existsSync(`/proc/${pid}`); n++) await pause(20);
}

function report(title, lives) {
  const names = Object.keys(lives);
  if (names.length === 0) return;
  const columns = Object.keys(lives[names[0]][0]);
  console.log(`| ${title} | ${columns.join(" | ")} |\n|---|${columns.map(() => "---|").join("")}`);
  for (const name of names) {
    const figures = columns.map((column) => Number(median(lives[name].map((one) => one[column])).toPrecision(3)));
    console.log(`| ${name} | ${figures.map((figure) => figure.toLocaleString("en")).join(" | ")} |`);
  }
  console.log();
}
