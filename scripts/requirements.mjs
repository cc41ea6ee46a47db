#!/usr/bin/env node
// The ledger of promises, test/requirements.json, against the tests that prove them. A row names its tests by file and title; where a
// title is made of pieces, one piece is enough. A row without a test says in `known_failure` why it does not hold yet.
//   requirements.mjs              counts rows that are proven and rows that are not, per source
//   requirements.mjs show <text>  shows the rows whose id begins with the text, with their tests
//   requirements.mjs write        writes the page test/requirements.md
//   requirements.mjs check        is the gate
// `--root=<dir>` looks at another tree.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { repositoryRoot } from "./gate.mjs";

const ledger = "test/requirements.json";
const page = "test/requirements.md";
const transports = ["stdio", "acp-http", "websocket", "http", "page", "cli", "disk", "library"];
const { values, positionals } = parseArgs({ options: { root: { type: "string" } }, allowPositionals: true });
const [command = "count", text = ""] = positionals;
const root = values.root ?? repositoryRoot;

const commands = { count, show, write, check };
if (Object.hasOwn(commands, command)) await commands[command](readRows());
else {
  console.error(`unknown command ${command}: one of ${Object.keys(commands).join(", ")}`);
  process.exitCode = 2;
}

function count(rows) {
  for (const source of [...new Set(rows.map((row) => row.source)), undefined]) {
    const some = rows.filter((row) => source === undefined || row.source === source);
    const proven = some.filter((row) => row.known_failure === undefined).length;
    const figures = `${String(proven).padStart(4)} proven ${String(some.length - proven).padStart(4)} not yet`;
    console.log(`${(source ?? "all").padEnd(28)} ${figures}`);
  }
}

function show(rows) {
  for (const row of rows.filter(({ id }) => id.startsWith(text))) {
    console.log(`${row.id}: ${row.promise} (${row.transports.join(", ")})`);
    if (row.known_failure !== undefined) console.log(`  not yet: ${row.known_failure}`);
    for (const [path, title] of testsOf(row)) console.log(`  ${path}: ${title}`);
  }
}

function write(rows) {
  writeFileSync(join(root, page), render(rows));
}

async function check(rows) {
  const problems = [...checkRows(rows), ...(await checkTests(rows))];
  if (!existsSync(join(root, page)) || readFileSync(join(root, page), "utf8") !== render(rows)) {
    problems.push(`${page} is not what ${ledger} says: npm run requirements -- write`);
  }
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else count(rows);
}

function* checkRows(rows) {
  const seen = new Set();
  for (const row of rows) {
    if (seen.has(row.id)) yield `${ledger}: ${row.id} is there twice`;
    seen.add(row.id);
    if (!/^[a-z-]+\.[a-z0-9-]+$/.test(row.id)) yield `${ledger}: ${row.id} is not an id`;
    const unknown = row.transports.filter((name) => !transports.includes(name));
    if (unknown.length > 0)
      yield `${ledger}: ${row.id} names the transport ${unknown}; there are ${transports.join(", ")}`;
    const isProven = testsOf(row).length > 0;
    if (isProven === (row.known_failure !== undefined))
      yield `${ledger}: ${row.id} needs either tests, or a known_failure that says why it has none`;
  }
}

/** Every test that a row names is in its file. Only this needs something installed. */
async function checkTests(rows) {
  const { readStrings } = await import("./read-source.mjs").catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    console.error("requirements check reads the tests with a parser that is not installed yet: npm run build");
    process.exit(1);
  });
  const strings = new Map();
  const stringsOf = (path) => {
    const at = join(root, path);
    if (!strings.has(path))
      strings.set(path, existsSync(at) ? new Set(readStrings(path, readFileSync(at, "utf8"))) : null);
    return strings.get(path);
  };
  return rows.flatMap((row) =>
    testsOf(row).flatMap(([path, title]) => {
      if (stringsOf(path) === null) return [`${ledger}: ${row.id} names ${path}, which is not there`];
      return stringsOf(path).has(title)
        ? []
        : [`${ledger}: ${row.id} names a test that ${path} does not have: ${title}`];
    }),
  );
}

function testsOf(row) {
  return Object.entries(row.tests ?? {}).flatMap(([path, titles]) => titles.map((title) => [path, title]));
}

function readRows() {
  const sources = JSON.parse(readFileSync(join(root, ledger), "utf8"));
  return Object.entries(sources).flatMap(([source, rows]) => rows.map((row) => ({ source, ...row })));
}

function render(rows) {
  const lines = [
    "# Requirements",
    "",
    "Every promise of the five source documents, and of what came after them, one row each, with the tests that prove it. Where documents disagree, the row states what",
    "was settled; the reasons are in [docs/decisions](../docs/decisions/README.md). This page is written from `test/requirements.json` by",
    "`npm run requirements -- write`; `npm run requirements -- show acp.cancel` shows rows with the titles of their tests, and `npm test`",
    "refuses a ledger that names a test which is not there.",
    "",
    `Transports: ${transports.map((name) => `\`${name}\``).join(", ")}. \`stdio\` is ACP in lines, \`acp-http\` ACP at \`/acp\` in posts and event streams,`,
    "`websocket` ACP in a WebSocket (at `/acp`, or of the bridge), `page` the page in a browser.",
  ];
  let source;
  for (const row of rows) {
    if (row.source !== source) {
      source = row.source;
      lines.push("", `## ${source}`, "", "| id | promise | transports | proven by |", "|---|---|---|---|");
    }
    const proof = row.known_failure === undefined ? Object.keys(row.tests).join(", ") : `not yet: ${row.known_failure}`;
    lines.push(`| ${row.id} | ${row.promise} | ${row.transports.join(", ")} | ${proof} |`);
  }
  return `${lines.join("\n")}\n`;
}
