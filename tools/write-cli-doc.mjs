#!/usr/bin/env node
// Writes docs/cli.md from the rows that parse what is typed and that `--help` is drawn from; with --check it fails when the
// page is not what it would write. Needs the built programs.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { CONFIG_KEYS, completeCommands } from "../packages/host/dist/index.js";
import { repositoryRoot } from "../scripts/gate.mjs";

const page = join(repositoryRoot, "docs", "cli.md");
const require = createRequire(import.meta.url);
const programs = ["otter", "ferret"].map((name) => {
  const modules = require(`../apps/${name}/dist/program.js`);
  return modules[`apps/${name}/src/program.ts`].program;
});
/** By program, complete with the flags of extensions; the one without a name first, as in a person's life. */
const commands = new Map();
for (const program of programs) {
  const rows = await completeCommands(program);
  commands.set(
    program,
    rows.toSorted((a, b) => (a.name === "" ? -1 : b.name === "" ? 1 : 0)),
  );
}
const [otter, ferret] = programs;

const text = [introduction(), commandsOf(otter), additionsOf(ferret, otter), settings()].join("\n");
if (!process.argv.includes("--check")) writeFileSync(page, text);
else if (readFileSync(page, "utf8") !== text) {
  console.error("docs/cli.md is out of date: run `node tools/write-cli-doc.mjs`");
  process.exitCode = 1;
}

// --- internal ---

function introduction() {
  return `# Command line

This page is generated from the rows that parse what is typed, by \`tools/write-cli-doc.mjs\`. \`<command> --help\` says the same
in a terminal, \`<command> completions bash|zsh|fish\` teaches it to a shell. \`chimera otter\` is \`otter\` and \`chimera ferret\` is
\`ferret\`, under one command.

| exit code | meaning |
|---|---|
| 0 | done; also a server that was asked to end |
| 1 | the work failed |
| 2 | a mistake in what was typed or configured; with \`-p\` also a cost limit that was reached |
| 3 | with \`-p\`: the answer is there, and calls on the way to it were not permitted |
| 70 | a bug in the program, shown with its stack |
| 130, 143 | interrupted |
`;
}

function commandsOf(program) {
  const { profile } = program;
  const sections = commands.get(program).map((command) => describe(profile.name, command));
  return `## ${profile.name}\n\n${sections.join("\n")}`;
}

/** The commands and flags that one program has and another has not. */
function additionsOf(program, base) {
  const { name } = program.profile;
  const known = new Map(commands.get(base).map((command) => [command.name, command]));
  const rows = commands.get(program);
  const further = rows.filter((command) => !known.has(command.name));
  const taking = rows.filter((command) => known.has(command.name) && command.startsSessions);
  const extra = Object.entries(taking[0].flags).filter(
    ([flag]) => !Object.hasOwn(known.get(taking[0].name).flags, flag),
  );
  const where = taking.map((command) => `\`${[name, command.name].filter(Boolean).join(" ")}\``).join(", ");
  return `## ${name}

Every command of ${base.profile.name}, with \`${name}\` in its place; \`${name} serve\` speaks ACP on stdin and stdout unless \`--http\` is
given. ${where} and the commands below also take:

${flagTable(extra)}

${further.map((command) => describe(name, command)).join("\n")}`;
}

function settings() {
  const rows = Object.entries(CONFIG_KEYS).map(([name, row]) => {
    const fallback = typeof row.default === "object" ? "" : String(row.default);
    const flag = row.flag === undefined ? "" : `\`--${row.flag}\``;
    return `| \`${name}\` | ${flag} | \`${row.env}\` | ${fallback} | ${projectMay(row)} |`;
  });
  return `## Settings

Flags win over the environment, that over the project's \`.chimera/config.json\`, that over \`$CHIMERA_HOME/config.json\`, that over
the default. In a variable's name \`*\` stands for the program: \`OTTER_PORT\`. \`otter config\` shows each value and where it came from.
\`*_LAUNCHED_BY\` is not a setting: what it holds, such as \`zed\`, is in every line of the log as \`launched_by\`.

\`providers\` names packages of the [AI SDK](https://ai-sdk.dev/providers) that serve further models: with
\`{"providers": {"bedrock": {"package": "@ai-sdk/amazon-bedrock", "options": {"region": "eu-west-1"}}}}\` and
\`npm install --prefix ~/.chimera @ai-sdk/amazon-bedrock\`, \`--model bedrock/MODEL\` is served by it. \`options\` are the package's own,
\`context_window\` is the model's in tokens (128000 unless it is set), and \`package\` may be the path of a directory too. Keys can stay in
the variables that the package reads. \`otter doctor\` says whether the packages are installed.

A key with a dot is written inside its group, as \`otter init\` writes it: \`{"safety": {"read_only": false}}\`. \`safety\` is how a session
opens; its mode and options can be switched afterwards, for that session alone. \`--mode\` stands in the place of \`safety\`; a \`mode\` in
the user's file only takes away from what \`safety\` allows.

| \`safety.read_only\` | \`safety.require_approval_for_writes\` | \`safety.require_approval_for_execute\` | opens in | \`auto_approve_writes\` | \`auto_approve_execute\` | \`read_only\` |
|---|---|---|---|---|---|---|
| true | any | any | read-only | false | false | true |
| false | true | true | review | false | false | false |
| false | false | false | auto | true | true | false |
| false | true | false | review | false | true | false |
| false | false | true | review | true | false | false |

| key | flag | variable | default | a project may |
|---|---|---|---|---|
${rows.join("\n")}
`;
}

function projectMay({ project }) {
  if (project === "nothing") return "";
  return project === "set" ? "set it" : "narrow it";
}

function describe(program, { name, summary, operands, flags, example }) {
  const words = [program, name, operands].filter(Boolean).join(" ");
  const rows = Object.entries(flags);
  return `### \`${words}\`

${summary}. For example \`${example}\`.
${rows.length === 0 ? "" : `\n${flagTable(rows)}\n`}`;
}

function flagTable(rows) {
  const lines = rows.map(([name, { short, value, help }]) => {
    const typed = `\`${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}\``;
    return `| ${typed} | ${help.replaceAll("|", "\\|").replaceAll("<", "&lt;")} |`;
  });
  return `| flag | |\n|---|---|\n${lines.join("\n")}`;
}
