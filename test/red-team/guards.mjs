#!/usr/bin/env node
// Whether the red team would notice: takes the guards below out one by one, each in a clone of the last commit, and runs the suite
// against what is left. `npm run test:guards -- [--only text]`. A guard without which the suite stays green is a hole in the suite.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { repositoryRoot } from "../../scripts/gate.mjs";
import { run } from "../../scripts/run.mjs";

/** Each is a piece of a file, and what a server without the guard has in its place. */
const GUARDS = [
  {
    name: "the Host list",
    file: "packages/http-server/src/guard/guard.ts",
    from: "const hostAllowed = createHostCheck(options.hosts);",
    to: "createHostCheck(options.hosts); const hostAllowed = (_: unknown) => true;",
  },
  {
    name: "the Origin list",
    file: "packages/http-server/src/guard/guard.ts",
    from: "const isListed = origins.has(origin);",
    to: "const isListed = origins.has(origin) || true;",
  },
  {
    name: "only the own user without a token",
    file: "packages/http-server/src/auth/gate.ts",
    from: "(await isOwnUser(socket))",
    to: "(await isOwnUser(socket)) || true",
  },
  {
    name: "a session's token is good for its session",
    file: "packages/http-server/src/auth/token.ts",
    from: "const known = issued.get(id);\n",
    to: "for (const any of issued.values()) if (sameDigest(any.digest, presented)) return any.life.signal;\n    const known = issued.get(id);\n",
  },
  {
    name: "slash commands obey the caller's tier",
    file: "packages/session/src/slash.ts",
    from: "isGuest && row.isForOperator ?",
    to: "isGuest && row.isForOperator && !isGuest ?",
  },
  {
    name: "a session's token only narrows settings",
    file: "packages/session/src/slash.ts",
    from: "const bounded = isGuest ?",
    to: "const bounded = isGuest && !isGuest ?",
  },
  {
    name: "built-in commands keep their names",
    file: "packages/session/src/slash.ts",
    from: "const row = rows.get(name);\n",
    to: "const taken = (await found(session.cwd)).find((command) => command.name === name);\n      if (taken) return { prompt: renderCommand(taken, splitArguments(args)) };\n      const row = rows.get(name);\n",
  },
  {
    name: "a project that is not trusted names no model",
    file: "packages/agent/src/agents/definition.ts",
    from: 'const isFree = source === "user" || trusted;',
    to: 'const isFree = source === "user" || trusted || true;',
  },
  {
    name: "git's settings of a repository are of concern",
    file: "packages/sandbox/src/git-settings.ts",
    from: "const concern = directoryConcern(directory, worktree);",
    to: "directoryConcern(directory, worktree); const concern = undefined;",
  },
  {
    name: "the places that hold secrets",
    file: "packages/sandbox/src/secrets.ts",
    from: "const steps = path.toLowerCase().split(/[/\\\\:=]/);",
    to: 'if (path !== "") return false;\n  const steps = path.toLowerCase().split(/[/\\\\:=]/);',
  },
  {
    name: "only public addresses are fetched",
    file: "packages/sandbox/src/public-address.ts",
    from: "return isIP(host) === 0 ?",
    to: "return isIP(host) >= 0 || isIP(host) === 0 ?",
  },
  {
    name: "an answer is to what was shown",
    file: "packages/session/src/broker.ts",
    from: "if (shown !== undefined && shown !== asked.shown)",
    to: "if (shown !== undefined && shown !== asked.shown && shown === asked.shown)",
  },
];

const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });
const scratch = mkdtempSync(join(tmpdir(), "chimera-guards-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const clone = join(scratch, "clone");
await must("git", ["clone", "--quiet", "--shared", repositoryRoot, clone]);
await must(process.execPath, ["scripts/bootstrap.mjs", "build"]);
let holes = (await attack("no guard taken out")) === 0 ? 0 : 1;
for (const { name, file, from, to } of GUARDS.filter((guard) => guard.name.includes(values.only))) {
  const path = join(clone, file);
  const text = readFileSync(path, "utf8");
  if (text.split(from).length !== 2) throw new Error(`${file} does not have this once: ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
  await must(process.execPath, ["scripts/bootstrap.mjs", "build"]);
  if ((await attack(name)) === 0) holes++;
  writeFileSync(path, text);
}
console.log(holes === 0 ? "every guard is missed" : `${holes} of these are not as they should be`);
process.exitCode = holes === 0 ? 0 : 1;

/** Runs the suite on the clone's current build, and returns how many attempts succeeded. */
async function attack(name) {
  const report = join(scratch, "report.json");
  const args = ["node_modules/vitest/vitest.mjs", "run", "--project", "test", "red-team", "--reporter=json"];
  await run(process.execPath, [...args, `--outputFile=${report}`], { cwd: clone });
  const { numTotalTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
  rmSync(report);
  console.log(`${name}: ${numFailedTests} of ${numTotalTests} attempts succeed`);
  return numFailedTests;
}

async function must(command, args) {
  const { code, output } = await run(command, args, command === "git" ? {} : { cwd: clone });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${output.slice(-4000)}`);
}
