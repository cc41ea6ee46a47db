#!/usr/bin/env node
// The ledger of promises, test/requirements.md, against the tests that cite it. A citation is the id in brackets inside
// any string of a test file, as in test("[acp.parse-error] …").
//   requirements.mjs              counts done and open per source
//   requirements.mjs open [text]  lists open rows whose id or source begins with the text
//   requirements.mjs sync         writes the states from the citations
//   requirements.mjs check        is the gate
// `--root=<dir>` looks at another tree.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { repositoryRoot } from "./gate.mjs";
import { listFiles } from "./workspace.mjs";

const ledger = "test/requirements.md";
const { values, positionals } = parseArgs({ options: { root: { type: "string" } }, allowPositionals: true });
const [command = "count", text = ""] = positionals;
const root = values.root ?? repositoryRoot;

const commands = { count, open, sync, check };
if (Object.hasOwn(commands, command)) await commands[command](readLedger());
else {
  console.error(`unknown command ${command}: one of ${Object.keys(commands).join(", ")}`);
  process.exitCode = 2;
}

function count({ rows }) {
  const sources = [...new Set(rows.map((row) => row.source))];
  for (const source of [...sources, undefined]) {
    const some = rows.filter((row) => source === undefined || row.source === source);
    const done = some.filter((row) => row.state.startsWith("done")).length;
    console.log(
      `${(source ?? "all").padEnd(28)} ${String(done).padStart(4)} done ${String(some.length - done).padStart(4)} open`,
    );
  }
}

function open({ rows }) {
  const wanted = text.toLowerCase();
  for (const { id, source, promise, state } of rows) {
    if (state !== "open" || !(id.startsWith(wanted) || source.toLowerCase().startsWith(wanted))) continue;
    console.log(`${id.padEnd(32)} ${promise}`);
  }
}

async function sync({ lines, rows }) {
  const citations = await readCitations(rows);
  for (const row of rows) lines[row.line - 1] = render(row, stateFrom(citations.get(row.id)));
  writeFileSync(join(root, ledger), lines.join("\n"));
  count(readLedger());
}

async function check({ rows }) {
  const citations = await readCitations(rows);
  const problems = [...checkRows(rows, citations), ...checkCitations(rows, citations)];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else count({ rows });
}

function checkRows(rows, citations) {
  const seen = new Set();
  return rows.flatMap((row) => {
    const place = `${ledger}:${row.line} ${row.id}`;
    if (seen.has(row.id)) return [`${place} is there twice`];
    seen.add(row.id);
    const cited = citations.get(row.id);
    if (row.state.startsWith("done") && cited === undefined) return [`${place} is done, but no test cites [${row.id}]`];
    return row.state === stateFrom(cited)
      ? []
      : [`${place} says "${row.state}" where the tests say "${stateFrom(cited)}": npm run requirements -- sync`];
  });
}

function checkCitations(rows, citations) {
  const known = new Set(rows.map((row) => row.id));
  return [...citations]
    .filter(([id]) => !known.has(id))
    .flatMap(([id, places]) => [...places].map((place) => `${place} cites [${id}], which ${ledger} does not list`));
}

function stateFrom(files) {
  return files === undefined ? "open" : `done: ${[...files].toSorted().join(", ")}`;
}

/** Bracketed text is an id where it begins a string, and elsewhere when its first word is one of the ledger's. */
async function readCitations(rows) {
  const { readStrings } = await loadParser();
  const topics = new Set(rows.map((row) => row.id.split(".")[0]));
  const citations = new Map();
  for (const path of listFiles(root, ".", [".test.ts"])) {
    for (const string of readStrings(path, readFileSync(join(root, path), "utf8"))) {
      for (const { 1: id, index } of string.matchAll(/\[([a-z-]+\.[a-z0-9-]+)\] /g)) {
        if (index > 0 && !topics.has(id.split(".")[0])) continue;
        citations.set(id, (citations.get(id) ?? new Set()).add(path));
      }
    }
  }
  return citations;
}

/** Only what looks at the tests needs something installed. */
async function loadParser() {
  return import("./read-source.mjs").catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    console.error(`requirements ${command} reads the tests with a parser that is not installed yet: npm run build`);
    process.exit(1);
  });
}

function readLedger() {
  const lines = readFileSync(join(root, ledger), "utf8").split("\n");
  let source = "";
  const rows = lines.flatMap((line, index) => {
    if (line.startsWith("## ")) source = line.slice(3);
    const cells = line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, ""));
    if (cells.length !== 4 || !/^[a-z-]+\.[a-z0-9-]+$/.test(cells[0])) return [];
    const [id, promise, transports, state] = cells;
    return [{ id, source, promise, transports, state, line: index + 1 }];
  });
  return { lines, rows };
}

function render({ id, promise, transports }, state) {
  return `| ${id} | ${promise} | ${transports} | ${state} |`;
}
