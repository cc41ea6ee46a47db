// One session after the other does what takes long, in one server; the event loop must not notice.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { fileScope } from "./program.js";
import { scratchTree } from "./scratch.js";
import { type Server, startServer } from "./server.js";

/** How long one session may keep the others waiting. */
const LIMIT_MS = 50;
/** A stall that is there every time is the program's; any other is the machine's. */
const TRIES = 3;

const atEnd = fileScope();
let server: Server;
let stalls: string;

beforeAll(async () => {
  stalls = join(scratchTree({ stalls: "" }, atEnd), "stalls");
  const home = scratchTree({ "permissions.json": { rules: [{ tool: "*", action: "allow" }] } }, atEnd);
  const watch = new URL("./stall-watch.mjs", import.meta.url).href;
  const env = { NODE_OPTIONS: `--import=${watch}`, CHIMERA_TEST_STALLS: stalls };
  server = await startServer([], env, { home, atEnd });
  // Loads what a first turn loads.
  await turn([call("Read", { path: "README.md" }), call("Bash", { command: "true" })]);
  const { id } = await turn([]);
  await server.ask(`GET /sessions/${id}/transcript`);
  await server.ask("GET /commands");
});

interface Call {
  readonly call: string;
  readonly args: Record<string, unknown>;
}
const call = (name: string, args: Record<string, unknown>): Call => ({ call: name, args });

/** A turn of a new session in which the model makes these calls. */
async function turn(calls: readonly (Call | { text: string })[]) {
  const steps = [...(calls.length > 0 ? [{ reply: calls }] : []), { reply: [{ text: "Done." }] }];
  const script = join(scratchTree({ "script.json": { repeat: true, turns: [{ steps }] } }, atEnd), "script.json");
  const { id, frames } = await server.run("go", { model: `scripted:${script}` });
  const results = frames.filter(({ event }) => event === "tool_result").map(({ data }) => data.metadata);
  return { id, results: results as { success: boolean; output: string }[] };
}

function place(path: string, content: string): void {
  const file = join(server.program.cwd, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** The longest time in which nothing else had its turn while `work` ran. */
async function longestStall(work: () => Promise<unknown>): Promise<number> {
  const from = Date.now();
  await work();
  const noted = readFileSync(stalls, "utf8").trim().split("\n");
  const since = noted.map((line) => line.split(" ").map(Number)).filter(([at = 0]) => at >= from);
  return Math.max(0, ...since.map(([, ms = 0]) => ms));
}

async function expectNoStall(work: () => Promise<unknown>): Promise<void> {
  const seen: number[] = [];
  while (seen.length < TRIES && !seen.some((ms) => ms < LIMIT_MS)) seen.push(await longestStall(work));
  expect(Math.min(...seen), `the longest stalls were ${seen.map(Math.round).join(", ")} ms`).toBeLessThan(LIMIT_MS);
}

test("while a pattern of one session backtracks, a turn of another runs from end to end", async () => {
  place("backtracked.txt", `${"a".repeat(60)}!`);
  const endless = { path: "backtracked.txt", pattern: "(a+)+$", replacement: "" };
  let ended = false;
  const slow = turn([call("replace_in_file", endless)]).finally(() => {
    ended = true;
  });
  let others = 0;
  while (!ended) {
    await turn([call("Read", { path: "README.md" })]);
    if (!ended) others += 1;
  }
  expect((await slow).results[0]?.output).toBe("The pattern cannot be used: it took more than 1000 ms.");
  expect(others).toBeGreaterThan(0);
});

const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at}`).join("\n");
const MANY_STARS = `{${"*a,".repeat(60)}*b}${"*a".repeat(400)}`;

test.each<[string, () => readonly Call[]]>([
  [
    "a pattern that backtracks, in search",
    () => {
      place("backtracked.txt", `${"a".repeat(60)}!`);
      return [call("search", { pattern: "(a+)+$", path: "backtracked.txt" })];
    },
  ],
  [
    "an edit of a passage that a large file does not have",
    () => {
      place("lines.txt", "a\n".repeat(4_000_000));
      return [call("Edit", { path: "lines.txt", old_string: "b", new_string: "c" })];
    },
  ],
  [
    "a file of nothing but line breaks",
    () => {
      place("breaks.txt", "\n".repeat(8_000_000));
      return [call("Read", { path: "breaks.txt" })];
    },
  ],
  [
    "a change of every line",
    () => {
      place("changed.txt", lines(15_000, "before"));
      return [call("Write", { path: "changed.txt", content: lines(15_000, "after").split("\n").reverse().join("\n") })];
    },
  ],
  [
    "a glob that backtracks",
    () => {
      for (let at = 0; at < 50; at += 1) place(`many/${"a".repeat(200)}${at}`, "");
      return [call("list_files", { path: "many", glob: MANY_STARS })];
    },
  ],
  [
    "an ignore file that takes long",
    () => {
      place("ignored/.gitignore", `${"*a".repeat(8)}b\n`.repeat(3000));
      for (let at = 0; at < 20; at += 1) place(`ignored/${"a".repeat(200)}${at}`, "");
      return [call("list_files", { path: "ignored" })];
    },
  ],
  [
    "a command that writes large files",
    () => [call("Bash", { command: "for n in 1 2 3; do head -c 20000000 /dev/urandom > large.$n; done" })],
  ],
])("%s keeps nobody waiting", async (_, prepare) => {
  const calls = prepare();
  await expectNoStall(() => turn(calls));
});

test("undo of large files and their diffs do not block other sessions", async () => {
  place("text.txt", lines(100_000, "before"));
  place("other.txt", lines(100_000, "before").replace(/before (\d*7)$/gm, "after $1"));
  const { id } = await turn([call("Bash", { command: "cp other.txt text.txt; head -c 20000000 /dev/zero > zeros" })]);
  const { body } = await server.ask(`GET /sessions/${id}/snapshots`);
  const diff = `GET /sessions/${id}/snapshots/${body.snapshots[0].snap_id}/diff`;
  await expectNoStall(async () => {
    expect(JSON.stringify((await server.ask(diff)).body).match(/\+after /g)).toHaveLength(10_000);
  });
  await expectNoStall(async () => {
    expect((await server.ask(`POST /sessions/${id}/undo`, { body: {} })).body.turns).toBe(1);
    expect((await server.ask(`POST /sessions/${id}/redo`, { body: {} })).body.turns).toBe(1);
  });
});

test.each(["html", "md", "json"])("a transcript in %s does not block other sessions", async (format) => {
  const table = `|${"a|".repeat(40)}\n|${"-|".repeat(40)}\n`;
  const text = `${table.repeat(100)}${"[".repeat(10_000)}`;
  const { id } = await turn([{ text }, call("think", { thought: `"'<>&curl \n`.repeat(80_000) })]);
  await expectNoStall(async () => {
    expect((await server.ask(`GET /sessions/${id}/transcript?format=${format}`)).status).toBe(200);
  });
});

test("a request of many values and a project of many long heads do not block other sessions", async () => {
  const keys = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`key${at}`, at]));
  await expectNoStall(async () => {
    expect((await server.ask("POST /sessions", { body: { prompt: "x", ...keys } })).status).toBe(413);
  });
  const head = lines(500, "key").replace(/ (\d+)/g, "$1: value");
  for (let at = 0; at < 40; at += 1) place(`.opencode/commands/c${at}.md`, `---\n${head}\n---\nbody\n`);
  await expectNoStall(async () => {
    expect((await server.ask("GET /commands")).body.commands.length).toBeGreaterThanOrEqual(40);
  });
});
