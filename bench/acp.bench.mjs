// otter over ACP beside the least a plain Node program can do: it asks the same model for every prompt, passes on each delta as
// it comes, appends every update to a journal file and syncs once a turn.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { firstChunk, startAcp } from "./acp-client.mjs";
import { startChatModel } from "./chat-model.mjs";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const DELTAS = 20_000;

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
  await model.close();
  rmSync(scratch, { recursive: true });
}

/** One life of an agent: milliseconds to initialize, of a warm prompt to its first chunk, and of a long answer. */
async function converse(args, home, modelUrl) {
  const env = cleanEnv({ HOME: home, CHIMERA_HOME: home, OPENAI_API_KEY: "x", OPENAI_BASE_URL: modelUrl });
  const program = startAcp(args, { env });
  await program.initialize();
  const init = program.age();
  const sessionId = await program.open("/");
  await program.prompt(sessionId, 1);
  const firsts = [];
  for (let warm = 0; warm < 5; warm++) firsts.push(await firstChunk(program, sessionId));
  const stream = await milliseconds(() => program.prompt(sessionId, DELTAS));
  await program.end();
  return { init, first: median(firsts), stream };
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
  createInterface({ input: process.stdin })
    .on("line", async (line) => {
      const { id, method, params } = JSON.parse(line);
      const result = await answers[method](params);
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
    })
    .on("close", () => {
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
