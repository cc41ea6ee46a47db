// otter over ACP beside the least a plain Node program can do: it answers the same calls from literals, appends every update
// to a journal file and syncs once a turn. The model is scripted, so that neither side waits for one.
import { spawn } from "node:child_process";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cleanEnv, interleave, median, row } from "./report.mjs";

const DELTAS = 20_000;

if (process.argv[2] === "--floor") {
  floor(process.argv[3]);
} else {
  await bench();
}

async function bench() {
  const scratch = mkdtempSync(join(tmpdir(), "acp-bench-"));
  const script = join(scratch, "script.json");
  const short = { steps: [{ reply: [{ text: "word " }] }] };
  const long = { steps: [{ reply: [{ text: "word ".repeat(DELTAS), chunks: DELTAS }] }] };
  writeFileSync(script, JSON.stringify({ repeat: true, turns: [short, short, long] }));
  const otter = [join(import.meta.dirname, "..", "apps", "otter", "dist", "cli.js"), "acp", "--log-level", "silent"];
  const contestants = {
    floor: [import.meta.filename, "--floor", join(scratch, "journal.ndjson")],
    "like for like": [...otter, "--no-coalesce", "--model", `scripted:${script}`],
    default: [...otter, "--model", `scripted:${script}`],
  };
  const lives = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  const runs = 5;
  await interleave(
    Object.fromEntries(
      Object.entries(contestants).map(([name, args]) => [
        name,
        async () => lives[name].push(await converse(args, join(scratch, name))),
      ]),
    ),
    { runs },
  );
  const of = (figure, name) => median(lives[name].slice(-runs).map((life) => life[figure]));
  row({
    name: "spawn to initialize",
    ours: of("init", "default"),
    floor: of("init", "floor"),
    unit: "ms",
    target: 1.25,
  });
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
      target: 0.4,
      better: "higher",
    });
  }
  rmSync(scratch, { recursive: true });
}

/** One life of an agent: milliseconds to initialize, of a warm prompt to its first chunk, and of a long answer. */
async function converse(args, home) {
  const started = performance.now();
  const env = cleanEnv({ HOME: home, CHIMERA_HOME: home });
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"], env });
  const waiting = new Map();
  let onChunk = () => {};
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.includes('"agent_message_chunk"')) return onChunk();
    const { id, result } = JSON.parse(line);
    waiting.get(id)?.(result);
  });
  let last = 0;
  const call = (method, params) => {
    const id = ++last;
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve) => waiting.set(id, resolve));
  };
  await call("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const init = performance.now() - started;
  const { sessionId } = await call("session/new", { cwd: "/", mcpServers: [] });
  const prompt = () => call("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
  await prompt();
  let first = 0;
  let asked = performance.now();
  onChunk = () => {
    first ||= performance.now() - asked;
  };
  await prompt();
  asked = performance.now();
  await prompt();
  const stream = performance.now() - asked;
  child.stdin.end();
  await new Promise((resolve) => child.on("exit", resolve));
  return { init, first, stream };
}

/** The floor: every third prompt is answered with the long text, as the script does. */
function floor(journal) {
  const file = openSync(journal, "w");
  let prompts = 0;
  const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const answers = {
    initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
    "session/new": () => ({ sessionId: "floor" }),
    "session/prompt": () => {
      const count = ++prompts % 3 === 0 ? DELTAS : 1;
      for (let sent = 0; sent < count; sent += 16) {
        let lines = "";
        for (let i = sent; i < Math.min(sent + 16, count); i++) {
          const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "word " } };
          lines += `${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "floor", update } })}\n`;
        }
        writeSync(file, lines);
        process.stdout.write(lines);
      }
      fdatasyncSync(file);
      return { stopReason: "end_turn" };
    },
  };
  createInterface({ input: process.stdin })
    .on("line", (line) => {
      const { id, method } = JSON.parse(line);
      send({ id, result: answers[method]() });
    })
    .on("close", () => closeSync(file));
}
