// What is measured of a build, as lives of its programs: each starts one, does what a client would, and gives a figure per row.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { firstChunk, startAcp } from "./acp-client.mjs";
import { freePort, isHealthy, openReader, post, timeToReaders } from "./http-client.mjs";
import { makeSessions } from "./many-sessions.mjs";
import { cleanEnv, median, milliseconds } from "./report.mjs";

const LONG = 20_000;
const [SESSIONS, SHORT] = [50, 100];
const STREAMED = 2_000;
const LISTED = 3_000;
const TURNS = 20;
const WARM = 5;
/** A life that takes longer hangs; its program is ended, which ends the life with an error. */
const LIMIT_MS = 120_000;

const time = { unit: "ms", better: "lower" };
const memory = { unit: "MiB", better: "lower" };
const deltas = { unit: "deltas/s", better: "higher" };
const deliveries = { unit: "deliveries/s", better: "higher" };

/**
 * `live(place)` gives a figure for each of its rows, once per pair; what a place lacks may be made there the first time.
 * A place is `{ program(app), cwd, home, kept, modelUrl }`: the built program, directories that are empty each time, one that stays
 * from life to life, and a model.
 */
export const LIVES = [
  {
    rows: {
      "ACP: spawn to initialize": time,
      "ACP: spawn to session/new": time,
      "ACP: idle": memory,
      "ACP: first prompt to first chunk": time,
      "ACP: warm prompt to first chunk": time,
      "ACP: second session/new": time,
      [`ACP: ${LONG} deltas`]: deltas,
      [`ACP: ${SESSIONS} sessions of ${SHORT} deltas at once`]: time,
      [`ACP: after ${SESSIONS} sessions`]: memory,
    },
    async live(place) {
      const program = acp(place, ["otter", "serve", "--acp"]);
      try {
        await program.initialize();
        const initialize = program.age();
        const sessionId = await program.open(place.cwd);
        const opened = program.age();
        await pause(300);
        const idle = residentMiB(program.pid);
        const cold = await firstChunk(program, sessionId);
        const warm = await several(() => firstChunk(program, sessionId));
        const second = await milliseconds(() => program.open(place.cwd));
        const long = await milliseconds(() => program.prompt(sessionId, LONG));
        const ids = [];
        for (let i = 0; i < SESSIONS; i++) ids.push(await program.open(place.cwd));
        const many = await milliseconds(() => Promise.all(ids.map((id) => program.prompt(id, SHORT))));
        return [initialize, opened, idle, cold, warm, second, LONG / (long / 1000), many, residentMiB(program.pid)];
      } finally {
        await program.end();
      }
    },
  },
  {
    rows: { [`ACP: ${LONG} deltas, one frame each`]: deltas },
    async live(place) {
      const program = acp(place, ["otter", "serve", "--acp", "--no-coalesce"]);
      try {
        await program.initialize();
        const sessionId = await program.open(place.cwd);
        await program.prompt(sessionId, 1);
        return [LONG / ((await milliseconds(() => program.prompt(sessionId, LONG))) / 1000)];
      } finally {
        await program.end();
      }
    },
  },
  starts("ferret", ["ferret", "serve"]),
  starts("chimera otter", ["chimera", "otter", "serve", "--acp"]),
  {
    rows: {
      "HTTP: spawn to /health": time,
      "HTTP: first POST /session": time,
      "HTTP: POST /session": time,
      [`HTTP: ${STREAMED} deltas to 1 reader`]: deliveries,
      [`HTTP: ${STREAMED} deltas to 50 readers`]: deliveries,
      "HTTP: warm prompt to first event": time,
      "HTTP: after all of that": memory,
    },
    live: (place) =>
      withServer(place, ["--no-coalesce"], async ({ port, pid, healthy }) => {
        const agent = new Agent({ keepAlive: true });
        const create = () => milliseconds(() => post(port, "/session", {}, agent));
        const first = await create();
        const created = await several(create);
        agent.destroy();
        await timeToReaders(port, 1, "1");
        const rates = [];
        for (const readers of [1, 50])
          rates.push((STREAMED * readers) / ((await timeToReaders(port, readers, String(STREAMED))) / 1000));
        const warm = await warmEvent(port);
        return [healthy, first, created, ...rates, warm, residentMiB(pid)];
      }),
  },
  ...["otter", "ferret"].map((app) => ({
    rows: { [`${app} --version`]: time },
    live: async (place) => [await milliseconds(() => runToEnd(place, [app, "--version"]))],
  })),
  {
    rows: { "otter -p": time },
    live: async (place) => [await milliseconds(() => runToEnd(place, ["otter", "-p", "1", "--model", "gpt-4o"]))],
  },
  {
    rows: { [`otter sessions list, ${LISTED} sessions`]: time },
    async live(place) {
      const home = join(place.kept, "listed");
      if (!existsSync(home)) makeSessions(home, LISTED);
      return [await milliseconds(() => runToEnd({ ...place, home }, ["otter", "sessions", "list"]))];
    },
  },
  {
    rows: { [`undo of one of ${TURNS} turns`]: time, [`redo of one of ${TURNS} turns`]: time },
    live: (place) =>
      withServer({ ...place, home: join(place.kept, "undo") }, [], async ({ port }) => {
        const id = await sessionOfTurns(place, port);
        const rewinds = { undo: [], redo: [] };
        for (let i = 0; i < WARM; i++)
          for (const [what, times] of Object.entries(rewinds))
            times.push(await milliseconds(() => post(port, `/sessions/${id}/${what}`, {})));
        return Object.values(rewinds).map(median);
      }),
  },
  {
    rows: { [`ACP: session/load of ${LONG} records`]: time },
    async live(place) {
      const sessionId = await longSession(place);
      const program = acp({ ...place, home: join(place.kept, "long") }, ["otter", "serve", "--acp"]);
      await program.initialize();
      const loaded = await milliseconds(() =>
        program.call("session/load", { sessionId, cwd: place.kept, mcpServers: [] }),
      );
      await program.end();
      return [loaded];
    },
  },
];

// --- internal ---

function starts(name, [app, ...args]) {
  return {
    rows: { [`${name}: spawn to initialize`]: time, [`${name}: spawn to session/new`]: time },
    async live(place) {
      const program = acp(place, [app, ...args]);
      try {
        await program.initialize();
        const initialize = program.age();
        await program.open(place.cwd);
        return [initialize, program.age()];
      } finally {
        await program.end();
      }
    },
  };
}

const QUIET = ["--log-level", "silent", "--model", "gpt-4o"];

function environment({ home, modelUrl }) {
  return cleanEnv({ HOME: home, CHIMERA_HOME: home, OPENAI_API_KEY: "x", OPENAI_BASE_URL: modelUrl });
}

function acp(place, [app, ...args]) {
  return startAcp([place.program(app), ...args, ...QUIET], {
    env: environment(place),
    cwd: place.cwd,
    timeout: LIMIT_MS,
  });
}

async function withServer(place, flags, work) {
  const port = await freePort();
  const started = performance.now();
  const args = [place.program("otter"), "serve", "--port", String(port), ...QUIET, ...flags];
  const child = spawn(process.execPath, args, {
    env: environment(place),
    cwd: place.cwd,
    stdio: "ignore",
    timeout: LIMIT_MS,
  });
  const exited = once(child, "exit");
  try {
    while (!(await isHealthy(port))) {
      if (child.exitCode !== null) throw new Error(`${args.slice(1).join(" ")} ended with ${child.exitCode}`);
      await pause(2);
    }
    return await work({ port, pid: child.pid, healthy: performance.now() - started });
  } finally {
    child.kill("SIGTERM");
    await exited;
  }
}

async function runToEnd(place, [app, ...args]) {
  const child = spawn(process.execPath, [place.program(app), ...args], {
    env: environment(place),
    cwd: place.cwd,
    stdio: "ignore",
    timeout: LIMIT_MS,
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${app} ${args.join(" ")} ended with ${code}`);
}

async function several(measure) {
  const samples = [];
  for (let i = 0; i < WARM; i++) samples.push(await measure());
  return median(samples);
}

/** What a process holds of the machine's memory; where the system does not say, nothing is compared. */
function residentMiB(pid) {
  if (process.platform !== "linux") return Number.NaN;
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

/** From a prompt to the first word of its answer, in the stream of a reader who is there already. */
async function warmEvent(port) {
  const { session_id: id } = await post(port, "/session", {});
  const prompt = async () => {
    const reader = await openReader(port, id, "next");
    const [spoken, over] = [reader.sees("text_delta"), reader.ended];
    const elapsed = await milliseconds(async () => {
      await post(port, `/sessions/${id}/turns`, { prompt: "1" });
      await spoken;
    });
    await over;
    return elapsed;
  };
  await prompt();
  return several(prompt);
}

/** A session whose every turn wrote a file, made once. */
async function sessionOfTurns({ kept }, port) {
  const note = join(kept, "undo", "session");
  if (existsSync(note)) return readFileSync(note, "utf8");
  const script = join(kept, "script.json");
  const write = { call: "Write", args: { path: "a.txt", content: "written" } };
  const steps = (turn) => [
    { reply: [write, { ...write, args: { path: `${turn}.txt`, content: "x".repeat(2000) } }] },
    { reply: [{ text: "Done." }] },
  ];
  writeFileSync(
    script,
    JSON.stringify({ turns: Array.from({ length: TURNS }, (_, turn) => ({ steps: steps(turn) })) }),
  );
  const rules = { rules: [{ tool: "*", action: "allow" }] };
  writeFileSync(join(kept, "undo", "permissions.json"), JSON.stringify(rules));
  const cwd = join(kept, "workspace");
  mkdirSync(cwd);
  const first = { prompt: "go on", cwd, model: `scripted:${script}` };
  const { session_id: id } = await post(port, "/sessions", first);
  for (let turn = 1; turn < TURNS; turn++) await post(port, `/sessions/${id}/turns`, { prompt: "go on" });
  while ((await snapshots(port, id)).length < TURNS) await pause(50);
  writeFileSync(note, id);
  return id;
}

async function snapshots(port, id) {
  const response = await fetch(`http://127.0.0.1:${port}/sessions/${id}/snapshots`);
  return (await response.json()).snapshots;
}

/** A session with a log of many records, made once. */
async function longSession(place) {
  const home = join(place.kept, "long");
  const note = join(home, "session");
  if (existsSync(note)) return readFileSync(note, "utf8");
  const program = acp({ ...place, home }, ["otter", "serve", "--acp", "--no-coalesce"]);
  await program.initialize();
  const sessionId = await program.open(place.kept);
  for (let turn = 0; turn < 10; turn++) await program.prompt(sessionId, LONG / 10);
  await program.end();
  writeFileSync(note, sessionId);
  return sessionId;
}
