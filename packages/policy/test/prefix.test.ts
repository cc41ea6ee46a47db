import { join } from "node:path";
import { expect, test } from "vitest";
import { answerFiles, classifyCommand, createPolicy, createRemembered, parseRuleset } from "../src/index.js";
import { prefixOf } from "../src/rule.js";
import { AUTO, bench, callOf, placeOf } from "./call.js";

test.each([
  ["npm test", "npm test"],
  ["npm test -- --watch", "npm test"],
  ["npm run build --silent", "npm run build"],
  ["npx tsc --noEmit", "npx tsc"],
  ["git add -A", "git add"],
  ["git commit -m x", "git commit"],
  ["pytest -q tests", "pytest"],
])("%s has the prefix %s", (command, prefix) => {
  expect(prefixOf(command)?.join(" ")).toBe(prefix);
});

test.each([
  "rm -rf build",
  "bash -c ls",
  "node x.js",
  "python3 -c 1",
  "sudo npm test",
  "env npm test",
  "xargs npm test",
  "git -C /etc add x",
  "git config core.pager x",
  "git push",
  "git fetch origin",
  "git pull --rebase",
  "git ls-remote origin",
  "git log --submodule",
  "git diff --no-index a b",
  "git show --notes",
  "git grep --untracked x",
  "git archive HEAD",
  "git stash list",
  "git format-patch -1",
  "git cherry-pick x",
  "git apply x.patch",
  "git init",
  "npm run",
  "npm exec evil",
  "npx sh",
  "npx --yes evil",
  "./npm test",
  "npm test; rm x",
  "npm test > /etc/passwd",
  "npm $(x)",
  "X=1 npm test",
  "git",
])("%s has no prefix that may be allowed", (command) => {
  expect(prefixOf(command)).toBe(null);
});

test("an allowed prefix applies to every command that begins with it, but not to another command on the same line", async () => {
  const { cwd, outside } = await bench();
  const open = () =>
    createPolicy({ remembered: createRemembered(answerFiles(join(outside, "kept"))), classify: classifyCommand });
  const place = placeOf(cwd);
  const call = (command: string) => callOf("Bash", { command }, place);
  const asked = await open().decide(call("npm test"), place);
  expect(asked).toMatchObject({ decision: "ask", wider: [{ scope: "prefix" }] });
  await open().remember(call("npm test -- one"), "always", place, "prefix");
  const decisions = async (lines: readonly string[]) =>
    Promise.all(lines.map(async (line) => (await open().decide(call(line), place)).decision));
  expect(new Set(await decisions(["npm test", "npm test -- two", "npm test && ls", "npm  'test'"]))).toEqual(
    new Set(["allow"]),
  );
  const beside = [
    "npm testx",
    "npm test; touch x",
    "npm test > out",
    "npm test | sh",
    "npm test $(touch x)",
    "npm test `touch x`",
    "X=1 npm test",
    "npm --prefix /etc test",
    "npm run test",
    "npm test & touch x",
    "npm test\ntouch x",
  ];
  expect(new Set(await decisions(beside))).toEqual(new Set(["ask"]));
  expect(await decisions(["npm test; rm -rf /"])).toEqual(["deny"]);
  await expect(open().remember(call("rm x"), "always", place, "prefix")).rejects.toThrow("no prefix");
});

test("an answer about a git subcommand that can run or write anything does not apply, also if it was given before", async () => {
  const { cwd, outside } = await bench();
  const place = placeOf(cwd);
  const call = (command: string) => callOf("Bash", { command }, place);
  const remembered = createRemembered(answerFiles(join(outside, "kept")));
  for (const words of ["git fetch", "git grep", "git log", "git ls-remote", "git commit"])
    await remembered.remember(cwd, call(words), "always", words.split(" "));
  const policy = createPolicy({ remembered, classify: classifyCommand });
  const decided = async (line: string) => (await policy.decide(call(line), place)).decision;
  for (const line of [
    "git fetch --upload-pack=./x.sh .",
    "git fetch --upload-p ./x.sh .",
    "git ls-remote --exec=./x.sh .",
    "git grep -O./x.sh int",
    "git log --output=x",
  ])
    expect(await decided(line), line).toBe("ask");
  expect(await decided("git commit -m x")).toBe("allow");
  await expect(policy.remember(call("git fetch"), "always", place, "prefix")).rejects.toThrow("no prefix");
});

test("allowing edits for the session is offered only if that allows the call; approved commands need no question", async () => {
  const { cwd, outside } = await bench();
  const policy = createPolicy({ classify: classifyCommand });
  const place = placeOf(cwd);
  const edit = (path: string) => callOf("Write", { path, content: "" }, place);
  expect(await policy.decide(edit("a.txt"), place)).toMatchObject({ decision: "ask", wider: [{ scope: "edits" }] });
  for (const path of [join(outside, "x"), ".git/config", ".chimera/x"])
    expect(await policy.decide(edit(path), place)).not.toHaveProperty("wider");
  const call = (command: string) => callOf("Bash", { command }, place);
  expect(await policy.decide(call("make"), placeOf(cwd, AUTO))).toMatchObject({ decision: "allow" });
  expect(await policy.decide(call("rm -rf /"), placeOf(cwd, AUTO))).toMatchObject({ decision: "deny" });
  const rules = parseRuleset(
    '{"rules":[{"tool":"Bash","arg_key":"command","arg_pattern":"git push*","action":"ask"}]}',
    "r",
  );
  const ruled = createPolicy({ rules, classify: classifyCommand });
  expect(await ruled.decide(call("git push -f"), placeOf(cwd, AUTO))).toMatchObject({ decision: "ask" });
});
