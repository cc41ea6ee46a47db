// otter over ACP beside the least a plain Node program can do: it asks the same model for every prompt, passes on each delta as
// it comes, appends every update to a journal file and syncs once a turn.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { firstChunk, startAcp } from "./acp-client.mjs";
import { startChatModel } from "./chat-model.mjs";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const DELTAS = 20_000;
const [SESSIONS, SHORT] = [50, 100];
const LARGE = 10e6;
/** A life that takes longer hangs. */
const LIMIT_MS = 120_000;

if (process.argv[2] === "--floor") {
  floor(process.argv[3], process.env.OPENAI_BASE_URL);
} else {
  await bench();
}

async function bench() {
  const scratch = mkdtempSync(join(tmpdir(), "acp-bench-"));
  const model = await startChatModel();
  const otter = [
    join(import.meta.dirname, "..", "apps", "otter", "dist", "cli.js"),
    "acp",
    "--log-level",
    "silent",
    "--model",
    "gpt-4o",
  ];
  const contestants = {
    floor: [import.meta.filename, "--floor", join(scratch, "journal.ndjson")],
    "like for like": [...otter, "--no-coalesce"],
    default: otter,
  };
  const lives = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  const runs = 5;
  await interleave(
    Object.fromEntries(
      Object.entries(contestants).map(([name, args]) => [
        name,
        async () => lives[name].push(await converse(args, join(scratch, name), model.url)),
      ]),
    ),
    { runs },
  );
  const peaks = [];
  for (let i = 0; i < 3; i++) peaks.push(await peakOf(otter, join(scratch, "large"), model.url));
  const of = (figure, name) => median(lives[name].slice(-runs).map((life) => life[figure]));
  row({
    name: "spawn to initialize",
    ours: of("init", "default"),
    floor: of("init", "floor"),
    unit: "ms",
    target: 1.25,
  });
  row({
    name: "spawn to session/new",
    ours: of("opened", "default"),
    floor: of("opened", "floor"),
    unit: "ms",
    target: 1.6,
  });
  row({
    name: "second session/new",
    ours: of("second", "default"),
    floor: of("second", "floor"),
    unit: "ms",
    target: "2 ms",
  });
  row({ name: "idle", ours: of("idle", "default"), floor: of("idle", "floor"), unit: "MiB", target: "50 MiB" });
  row({
    name: "warm prompt to first chunk",
    ours: of("first", "default"),
    floor: of("first", "floor"),
    unit: "ms",
    target: 3,
  });
  for (const name of ["like for like", "default"]) {
    const rate = (who) => DELTAS / (of("stream", who) / 1000);
    row({
      name: `${DELTAS} deltas, ${name}`,
      ours: rate(name),
      floor: rate("floor"),
      unit: "deltas/s",
      target: name === "default" ? 0.6 : 0.4,
      better: "higher",
    });
  }
  row({
    name: `${SESSIONS} sessions of ${SHORT} deltas at once`,
    ours: of("many", "default"),
    floor: of("many", "floor"),
    unit: "ms",
    target: 2,
  });
  row({
    name: `memory that a prompt of ${LARGE / 1e6} MB takes, by its size`,
    ours: median(peaks),
    unit: "times",
    target: "4 times",
  });
  await model.close();
  rmSync(scratch, { recursive: true });
}

/** One life of an agent, in milliseconds and MiB. */
async function converse(args, home, modelUrl) {
  const cwd = mkdtempSync(join(tmpdir(), "acp-bench-work-"));
  const program = startAcp(args, { env: environment(home, modelUrl), cwd, timeout: LIMIT_MS });
  await program.initialize();
  const init = program.age();
  const sessionId = await program.open(cwd);
  const opened = program.age();
  await pause(300);
  const idle = memoryOf(program.pid, "VmRSS");
  const second = await milliseconds(() => program.open(cwd));
  await program.prompt(sessionId, 1);
  const firsts = [];
  for (let warm = 0; warm < 5; warm++) firsts.push(await firstChunk(program, sessionId));
  const stream = await milliseconds(() => program.prompt(sessionId, DELTAS));
  const ids = [];
  for (let i = 0; i < SESSIONS; i++) ids.push(await program.open(cwd));
  const many = await milliseconds(() => Promise.all(ids.map((id) => program.prompt(id, SHORT))));
  await program.end();
  rmSync(cwd, { recursive: true });
  return { init, opened, idle, second, first: median(firsts), stream, many };
}

function environment(home, modelUrl) {
  return cleanEnv({ HOME: home, CHIMERA_HOME: home, OPENAI_API_KEY: "x", OPENAI_BASE_URL: modelUrl });
}

/** The memory that a large prompt takes at most, in multiples of its size. */
async function peakOf(args, home, modelUrl) {
  const cwd = mkdtempSync(join(tmpdir(), "acp-bench-work-"));
  const program = startAcp(args, { env: environment(home, modelUrl), cwd, timeout: LIMIT_MS });
  await program.initialize();
  const sessionId = await program.open(cwd);
  await program.prompt(sessionId, 1);
  await pause(300);
  const before = memoryOf(program.pid, "VmRSS");
  await program.prompt(sessionId, `1 ${"x".repeat(LARGE)}`);
  const peak = memoryOf(program.pid, "VmHWM") - before;
  await program.end();
  rmSync(cwd, { recursive: true });
  return peak / (LARGE / 2 ** 20);
}

/** In MiB; where the system does not say, nothing is compared. */
function memoryOf(pid, field) {
  if (process.platform !== "linux") return Number.NaN;
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

function floor(journal, modelUrl) {
  const file = openSync(journal, "w");
  const agent = new Agent({ keepAlive: true });
  const answers = {
    initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
    "session/new": () => ({ sessionId: "floor" }),
    "session/prompt": async ({ prompt }) => {
      const body = JSON.stringify({ stream: true, messages: [{ role: "user", content: prompt[0].text }] });
      const reply = await new Promise((resolve, reject) => {
        const sent = request(`${modelUrl}/chat/completions`, { method: "POST", agent }, resolve);
        sent.on("error", reject).end(body);
      });
      let rest = "";
      for await (const text of reply.setEncoding("utf8")) {
        const events = (rest + text).split("\n\n");
        rest = events.pop();
        const lines = events.map(updateOf).join("");
        writeSync(file, lines);
        process.stdout.write(lines);
      }
      fdatasyncSync(file);
      return { stopReason: "end_turn" };
    },
  };
  const answer = async (line) => {
    const { id, method, params } = JSON.parse(line);
    const result = await answers[method](params);
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  };
  // A long line is not looked into before it is whole, however small the pieces are in which it comes.
  let held = "";
  process.stdin
    .setEncoding("utf8")
    .on("data", (text) => {
      const lines = text.split("\n");
      lines[0] = held + lines[0];
      held = lines.pop();
      lines.forEach(answer);
    })
    .on("end", () => {
      closeSync(file);
      agent.destroy();
    });
}

/** The line that passes an event of the model's on; empty for one without text. */
function updateOf(event) {
  const text = event === "data: [DONE]" ? undefined : JSON.parse(event.slice("data: ".length)).choices[0].delta.content;
  if (!text) return "";
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  return `${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "floor", update } })}\n`;
}
