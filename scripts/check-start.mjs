#!/usr/bin/env node
// A start stays small: no program loads more code, or opens other files, before its first answers than scripts/start-budget.json
// says. Times say the same only on a machine with nothing else to do; these counts are the same on every run. After a change
// that is worth its price, `node scripts/check-start.mjs --write` writes the table anew.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runGate } from "./gate.mjs";

const TRACE = fileURLToPath(new URL("trace-start.cjs", import.meta.url));
const TABLE = join("scripts", "start-budget.json");
const TIME_LIMIT_MS = 60_000;

const initialize = { id: 1, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } };
const newSession = (cwd) => ({ id: 2, method: "session/new", params: { cwd, mcpServers: [] } });

/** What is said to a program, and the text by which its answer is known; where nothing is said, it speaks first. */
const ANSWERS = {
  initialize: { say: () => initialize, text: '"id":1,"result"' },
  "session/new": { say: newSession, text: '"id":2,"result"' },
  listening: { text: "listening on http://" },
};

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkStart(root) {
  const table = JSON.parse(readFileSync(join(root, TABLE), "utf8"));
  const problems = [];
  const summary = [];
  for (const { command, before } of table.starts) {
    const notes = await traceStart(root, command, Object.keys(before));
    for (const [answer, budget] of Object.entries(before)) {
      const { scripts, bytes, files } = openedBefore(ANSWERS[answer].text, notes);
      const name = `${command}: before ${answer}`;
      summary.push(`${name} ${scripts.length} scripts of ${bytes} bytes and ${files.length} other files`);
      problems.push(...overBudget({ scripts, bytes, files }, budget, table.margin).map((each) => `${name}: ${each}`));
      before[answer] = { scripts: scripts.length, bytes, files };
    }
  }
  if (!process.argv.includes("--write")) return { problems, summary: summary.join("\n") };
  writeFileSync(join(root, TABLE), `${JSON.stringify(table, null, 2)}\n`);
  return { problems: [], summary: summary.join("\n") };
}

// --- internal ---

/** Runs a program in an empty home up to the last of its answers; gives what it noted, places named as in the table. */
async function traceStart(root, command, answers) {
  const [app, ...args] = command.split(" ");
  const scratch = mkdtempSync(join(tmpdir(), "chimera-start-"));
  try {
    const [home, cwd, trace] = ["home", "work", "notes.json"].map((name) => join(scratch, name));
    mkdirSync(cwd);
    const cli = join(root, "apps", app, "dist", "cli.js");
    // Nothing else of the caller's environment: its keys and settings change what is loaded.
    const env = { PATH: process.env.PATH, HOME: home, CHIMERA_HOME: home, TRACE_START: trace };
    const child = spawn(process.execPath, ["--require", TRACE, cli, ...args], { cwd, env, timeout: TIME_LIMIT_MS });
    let text = "";
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
        child.emit("said");
      });
    }
    child.stdin.on("error", () => {});
    const closed = once(child, "close");
    for (const { say, text: answer } of answers.map((name) => ANSWERS[name])) {
      if (say) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...say(cwd) })}\n`);
      while (!text.includes(answer)) {
        const [code] = await Promise.race([once(child, "said"), closed]);
        if (code !== undefined) throw new Error(`${command} ended before it answered: ${text}`);
      }
    }
    child.kill("SIGKILL");
    await closed;
    return readNotes(trace, { [dirname(cli)]: "$CODE", [home]: "$HOME", [cwd]: "$CWD" });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Names without what is another one each time: sessions, processes, ports, random digits. */
function readNotes(trace, places) {
  const short = (path) => {
    const [place] = Object.keys(places).filter((directory) => path === directory || path.startsWith(`${directory}/`));
    return (place === undefined ? path : places[place] + path.slice(place.length))
      .replace(/[a-z]+-\d{8}T\d{6}-[0-9a-f]{8}/g, "SESSION")
      .replace(/[0-9a-f]{8,}/g, "HEX")
      .replace(/^\/proc\/\d+/, "/proc/N")
      .replace(/\d{2,}/g, "N");
  };
  const notes = readFileSync(trace, "utf8").trimEnd().split("\n");
  return notes.map((line) => {
    const { kind, what } = JSON.parse(line);
    if (kind === "wrote") return { kind, what };
    return { kind, what: short(what), bytes: kind === "loaded" ? statSync(what).size : 0 };
  });
}

/** Scripts apart from other files, each once, in the order in which they were opened. */
function openedBefore(text, notes) {
  const until = notes.findIndex(({ kind, what }) => kind === "wrote" && what.includes(text));
  if (until < 0) throw new Error(`nothing of ${text} was noted`);
  const seen = notes.slice(0, until);
  const loaded = seen.filter(({ kind }) => kind === "loaded");
  const scripts = [...new Map(loaded.map((note) => [note.what, note])).values()];
  const isScript = new Set(scripts.map(({ what }) => what));
  // What V8 made of a script in an earlier run is there or not.
  const isOther = ({ kind, what }) => kind === "opened" && !isScript.has(what) && !what.startsWith("$CODE/compiled/");
  const others = seen.filter(isOther).map(({ what }) => what);
  return { scripts, bytes: scripts.reduce((sum, note) => sum + note.bytes, 0), files: [...new Set(others)] };
}

function overBudget({ scripts, bytes, files }, budget, margin) {
  const listed = scripts.map((note) => `${note.what} (${note.bytes} bytes)`).join(", ");
  const problems = files
    .filter((file) => !budget.files.includes(file))
    .map((file) => `${file} is opened, which ${TABLE} does not name`);
  if (scripts.length > budget.scripts)
    problems.push(`${scripts.length} scripts are loaded, not ${budget.scripts}: ${listed}`);
  if (bytes > budget.bytes * (1 + margin))
    problems.push(`${bytes} bytes of scripts are loaded, more than ${budget.bytes} and ${margin * 100} %: ${listed}`);
  return problems;
}

await runGate(import.meta, checkStart);
