// How the cost of what people do grows with what is there: `node bench/curves.mjs [--picture docs/pictures/cost.svg]`. Builds nothing:
// `npm run build` first. Takes about three minutes; curves that need PostgreSQL are left out where none can be started.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { canStartPostgres, startOwnPostgres } from "../packages/store-postgres/dist/testing.js";
import { startChatModel } from "./chat-model.mjs";
import { drawCurves } from "./curves-picture.mjs";
import { freePort, isHealthy, openReader, post, timeToReaders } from "./http-client.mjs";
import { makeSessions } from "./many-sessions.mjs";
import { cleanEnv, figure, median, milliseconds } from "./report.mjs";

const otter = join(import.meta.dirname, "..", "apps", "otter", "dist", "cli.js");
const RUNS = 7;
/** Deltas of the answer that all readers get. */
const STREAMED = 1_000;

/** `measure(n)` gives a figure for each line, in the unit of the curve. */
const CURVES = [
  {
    title: "sessions in the store",
    unit: "ms",
    sizes: [100, 1_000, 4_000, 16_000],
    lines: ["GET /sessions?limit=20", "otter sessions list --limit 20"],
    async measure(count, place) {
      const home = makeSessions(place("home"), count);
      const list = () => milliseconds(() => run(["sessions", "list", "--limit", "20"], home));
      return withServer({ home }, async ({ port }) => [
        await several(() => milliseconds(() => get(port, "/sessions?limit=20"))),
        await several(list),
      ]);
    },
  },
  {
    title: "records in a session's log",
    unit: "ms",
    sizes: [100, 1_000, 10_000, 50_000],
    lines: ["prompt to first event", "its first after a restart"],
    async measure(records, place) {
      const [home, flags] = [place("home"), ["--no-coalesce"]];
      let session;
      const warm = await withServer({ home, flags }, async ({ port }) => {
        session = (await post(port, "/session", {})).session_id;
        for (let left = records; left > 0; left -= 5_000) await ended(port, session, String(Math.min(left, 5_000)));
        return several(() => promptToEvent(port, session));
      });
      const restarted = await several(() => withServer({ home, flags }, ({ port }) => promptToEvent(port, session)), 3);
      return [warm, restarted];
    },
  },
  {
    title: "readers of one session",
    unit: "µs",
    sizes: [1, 10, 100, 500],
    lines: ["a record to a reader"],
    measure: (readers, place) =>
      withServer({ home: place("home"), flags: ["--no-coalesce"] }, async ({ port }) => {
        await timeToReaders(port, readers, "100");
        const elapsed = await several(() => timeToReaders(port, readers, String(STREAMED)), 3);
        return [(elapsed * 1000) / STREAMED / readers];
      }),
  },
  {
    title: "turns of a session",
    unit: "ms",
    sizes: [2, 20, 100],
    lines: ["undo of the last", "prompt to first event"],
    async measure(turns, place) {
      const home = place("home");
      const script = writingScript(place("script"), turns);
      writeFileSync(join(home, "permissions.json"), JSON.stringify({ rules: [{ tool: "*", action: "allow" }] }));
      return withServer({ home, cwd: place("work") }, async ({ port }) => {
        const { session_id: id } = await post(port, "/session", { model: `scripted:${script}` });
        for (let turn = 0; turn < turns; turn++) await ended(port, id, "go on");
        const undo = await several(async () => {
          const elapsed = await milliseconds(() => post(port, `/sessions/${id}/undo`, {}));
          await post(port, `/sessions/${id}/redo`, {});
          return elapsed;
        });
        return [undo, await several(() => promptToEvent(port, id))];
      });
    },
  },
  {
    title: "nodes on one database",
    unit: "ms",
    sizes: canStartPostgres(process.env) ? [1, 2, 4] : [],
    lines: ["prompt to first event", "to that event at another node"],
    async measure(nodes, place) {
      const server = await startOwnPostgres(process.env);
      const database = await server.database();
      const flags = ["--store", database.url, "--workspace-host", "shared"];
      const cwd = place("work");
      const started = [];
      try {
        for (let node = 0; node < nodes; node++)
          started.push(await startServer({ home: place(`home-${node}`), cwd, flags }));
        const [near, far] = [started[0].port, started.at(-1).port];
        const { session_id: id } = await post(near, "/session", {});
        return [await several(() => promptToEvent(near, id)), await several(() => promptToEvent(near, id, far))];
      } finally {
        for (const { stop } of started) await stop();
        await database.drop();
        await server.stop();
      }
    },
  },
];

const { picture } = parseArgs({ options: { picture: { type: "string" } } }).values;
const model = await startChatModel();
const drawn = [];
for (const { title, unit, sizes, lines, measure } of CURVES) {
  const points = [];
  for (const size of sizes) {
    const root = mkdtempSync(join(tmpdir(), "chimera-curves-"));
    const place = (name) => {
      mkdirSync(join(root, name), { recursive: true });
      return join(root, name);
    };
    const figures = await measure(size, place);
    rmSync(root, { recursive: true, force: true });
    points.push({ size, figures });
    console.log(
      [
        `${size.toLocaleString("en-US")} ${title}`,
        ...figures.map((each, i) => `${lines[i]} ${figure(each)} ${unit}`),
      ].join(" | "),
    );
  }
  if (points.length > 0) drawn.push({ title, unit, lines, points });
}
await model.close();
if (picture !== undefined) writeFileSync(picture, drawCurves(drawn));

// --- internal ---

async function several(sample, runs = RUNS) {
  const samples = [];
  for (let i = 0; i < runs; i++) samples.push(await sample());
  return median(samples);
}

function environment(home) {
  return cleanEnv({ HOME: home, CHIMERA_HOME: home, OPENAI_API_KEY: "x", OPENAI_BASE_URL: model.url });
}

async function run(args, home) {
  const child = spawn(process.execPath, [otter, ...args], { env: environment(home), cwd: home, stdio: "ignore" });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`otter ${args.join(" ")} ended with ${code}`);
}

async function startServer({ home, cwd = home, flags = [] }) {
  const port = await freePort();
  const args = [otter, "serve", "--port", String(port), "--model", "gpt-4o", "--log-level", "silent", ...flags];
  const child = spawn(process.execPath, args, { env: environment(home), cwd, stdio: "ignore" });
  const exited = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
  };
  while (!(await isHealthy(port))) {
    if (child.exitCode !== null) throw new Error(`otter ${args.slice(1).join(" ")} ended with ${child.exitCode}`);
    await pause(5);
  }
  return { port, stop };
}

async function withServer(options, work) {
  const server = await startServer(options);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

async function get(port, path) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  if (!response.ok) throw new Error(`GET ${path} answered ${response.status}`);
  return response.json();
}

/** From a prompt at one port to the first word of its answer, in the stream of a reader who is at a port already. */
async function promptToEvent(port, id, at = port) {
  const reader = await openReader(at, id, "next");
  const seen = reader.sees("text_delta");
  const elapsed = await milliseconds(async () => {
    await post(port, `/sessions/${id}/turns`, { prompt: "1" });
    await seen;
  });
  await reader.ended;
  return elapsed;
}

async function ended(port, id, prompt) {
  const reader = await openReader(port, id, "next");
  await post(port, `/sessions/${id}/turns`, { prompt });
  await reader.ended;
}

/** A model that writes two files in each of so many turns, and from then on only speaks. */
function writingScript(directory, turns) {
  const write = (path, content) => ({ call: "Write", args: { path, content } });
  const steps = (turn) => [
    { reply: [write("a.txt", `written ${turn}`), write(`${turn}.txt`, "x".repeat(2000))] },
    { reply: [{ text: "Done." }] },
  ];
  const spoken = Array.from({ length: RUNS }, () => ({ steps: [{ reply: [{ text: "Done." }] }] }));
  const script = { turns: [...Array.from({ length: turns }, (_, turn) => ({ steps: steps(turn) })), ...spoken] };
  const file = join(directory, "script.json");
  writeFileSync(file, JSON.stringify(script));
  return file;
}
