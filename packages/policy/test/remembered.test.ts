import { createHash } from "node:crypto";
import { appendFile, mkdir, readdir, readFile, stat, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { answerFiles, createPolicy, createRemembered, parseRuleset } from "../src/index.js";
import { AUTO, bench, callOf, placeOf } from "./call.js";

async function place() {
  const { cwd, outside } = await bench();
  const directory = join(outside, "remembered");
  const context = placeOf(cwd);
  const call = (command: string) => callOf("Bash", { command }, context);
  return {
    cwd,
    outside,
    directory,
    context,
    call,
    policy: createPolicy({ remembered: createRemembered(answerFiles(directory)) }),
  };
}

test("always and never apply to the same tool with the same arguments in any order, also in another process", async () => {
  const { policy, context, call, directory, cwd } = await place();
  await policy.remember(call("make"), "always", context);
  await policy.remember(call("rm x"), "never", context);
  const other = createPolicy({ remembered: createRemembered(answerFiles(directory)) });
  expect(await other.decide(call("make"), context)).toMatchObject({ decision: "allow", rule: "remembered" });
  expect(await other.decide(call("make clean"), context)).toMatchObject({ decision: "ask" });
  expect(await other.decide(call("rm x"), placeOf(cwd, AUTO))).toMatchObject({
    decision: "deny",
    rule: "remembered",
  });
  await other.remember(call("rm x"), "always", context);
  expect(await policy.decide(call("rm x"), context)).toMatchObject({ decision: "allow" });
  const swapped = callOf("Bash", { timeout: 5, command: "x" }, context);
  await policy.remember(swapped, "always", context);
  expect(await policy.decide(callOf("Bash", { command: "x", timeout: 5 }, context), context)).toMatchObject({
    decision: "allow",
  });
});

test("an answer after two simultaneous reads is found", async () => {
  const { policy, context, call } = await place();
  await policy.remember(call("make"), "never", context);
  await Promise.all([policy.decide(call("make"), context), policy.decide(call("make"), context)]);
  // A longer line than the one before, so that the earlier reads cannot count as this one.
  await policy.remember(call("make"), "always", context);
  expect((await policy.decide(call("make"), context)).decision).toBe("allow");
});

test("it belongs to one workspace, is stored outside it, and only its owner can read it", async () => {
  const { policy, context, call, directory, cwd } = await place();
  await policy.remember(call("make"), "always", context);
  const elsewhere = placeOf(join(cwd, ".."));
  expect(await policy.decide(call("make"), elsewhere)).toMatchObject({ decision: "ask" });
  expect(await readdir(cwd)).toEqual([]);
  const [file] = await readdir(directory);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect((await stat(join(directory, file as string))).mode & 0o777).toBe(0o600);
});

test("always answers a question but lifts no denial", async () => {
  const { context, call, directory, cwd } = await place();
  const remembered = createRemembered(answerFiles(directory));
  await remembered.remember(cwd, call("make"), "always");
  const rules = parseRuleset('{"rules":[{"tool":"Bash","action":"deny"}]}', "f");
  expect(await createPolicy({ remembered, rules }).decide(call("make"), context)).toMatchObject({ decision: "deny" });
  expect(await createPolicy({ remembered }).decide(call("make"), placeOf(cwd, { readOnly: true }))).toMatchObject({
    decision: "deny",
  });
});

test("an answer about a path applies to the file it meant", async () => {
  const { policy, context, cwd, outside } = await place();
  await mkdir(join(cwd, "a"));
  await symlink("a", join(cwd, "link"));
  const write = () => callOf("Write", { path: "link/x", content: "" }, context);
  await policy.remember(write(), "always", context);
  expect(await policy.decide(write(), context)).toMatchObject({ decision: "allow" });
  await unlink(join(cwd, "link"));
  await symlink(outside, join(cwd, "link"));
  expect(await policy.decide(write(), context)).toMatchObject({ decision: "ask" });
});

test("an incomplete line loses only itself", async () => {
  const { policy, context, call, directory } = await place();
  await policy.remember(call("one"), "always", context);
  const [file] = await readdir(directory);
  await appendFile(join(directory, file as string), '{"key":"half');
  await policy.remember(call("two"), "always", context);
  expect(await policy.decide(call("one"), context)).toMatchObject({ decision: "allow" });
  expect(await policy.decide(call("two"), context)).toMatchObject({ decision: "allow" });
});

test.each([
  ["blanks", "git  push\t origin main\n", true],
  ["quotes", `git 'push' "origin" main`, true],
  ["an escape", "git pu\\sh origin main", false],
  ["a blank that is not one to a shell", "git push origin main\u00a0", false],
  ["a carriage return", "git push origin main\r", false],
  ["another word", "git push origin main -f", false],
  ["words in another order", "git push main origin", false],
  ["two words in one", "git push 'origin main'", false],
  ["an empty word", "git push origin main ''", false],
  ["a second command", "git push origin main; true", false],
  ["a redirection", "git push origin main > log", false],
  ["a variable", "git push origin $main", false],
  ["an assignment before it", "GIT_DIR=x git push origin main", false],
  ["a comment after it", "git push origin main # really", false],
  ["another case", "git push origin Main", false],
])("an answer about a command applies to the same words: %s", async (_, variant, same) => {
  const { policy, context, call } = await place();
  await policy.remember(call("git push origin main"), "always", context);
  const { decision } = await policy.decide(call(variant), context);
  expect(decision).toBe(same ? "allow" : "ask");
});

test.each([
  ["rm '*'", "rm *"],
  ["make '~'", "make ~"],
  ["make '$x'", "make $x"],
  ["make 'a b'", "make a b"],
  ["make '#' a", "make # a"],
  ["make \\;", "make ;"],
])("%j and %j are different commands with separate answers", async (quoted, plain) => {
  const { policy, context, call } = await place();
  await policy.remember(call(quoted), "always", context);
  expect(await policy.decide(call(plain), context)).toMatchObject({ decision: "ask" });
  await policy.remember(call(plain), "never", context);
  expect(await policy.decide(call(quoted), context)).toMatchObject({ decision: "allow" });
  expect(await policy.decide(call(plain), context)).toMatchObject({ decision: "deny" });
});

test("an answer also depends on a command's directory and time limit", async () => {
  const { policy, context, cwd } = await place();
  await mkdir(join(cwd, "sub"));
  const call = (args: Record<string, unknown>) => callOf("Bash", { command: "make  all", ...args }, context);
  await policy.remember(call({ command: "make all" }), "always", context);
  expect(await policy.decide(call({}), context)).toMatchObject({ decision: "allow" });
  expect(await policy.decide(call({ cwd: "sub" }), context)).toMatchObject({ decision: "ask" });
  expect(await policy.decide(call({ timeout: 500 }), context)).toMatchObject({ decision: "ask" });
});

test("a command in an editor's terminal is not treated as a shell line", async () => {
  const { policy, context } = await place();
  const terminal = { run: async () => ({ output: "", truncated: false, exitCode: 0, signal: null, timedOut: false }) };
  const terminalPlace = { ...context, workspace: { ...context.workspace, terminal } };
  const call = (command: string) => callOf("acp_terminal", { command }, terminalPlace);
  await policy.remember(call("git push"), "always", context);
  expect(await policy.decide(call("git push"), context)).toMatchObject({ decision: "allow" });
  expect(await policy.decide(call("git  push"), context)).toMatchObject({ decision: "ask" });
});

describe("answers that version 0.1 stored", () => {
  /** In the format of version 0.1: the hash of the exact arguments, without a version. */
  async function kept(command: string, answer: "always" | "never") {
    const { policy, context, call, directory, cwd } = await place();
    const args = `{"args":{"command":${JSON.stringify(command)}},"reads":[${JSON.stringify(cwd)}],"tool":"Bash","writes":[]}`;
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const line = { key: hash(args), answer, tool: "Bash", workspace: cwd, at: "2026-11-16T10:00:00.000Z" };
    await mkdir(directory);
    const file = join(directory, `${hash(cwd).slice(0, 32)}.jsonl`);
    await appendFile(file, `\n${JSON.stringify(line)}\n`);
    return {
      policy,
      context,
      call,
      file,
      again: () => createPolicy({ remembered: createRemembered(answerFiles(directory)) }),
    };
  }

  test("apply, and apply to the words after their first use", async () => {
    const { policy, context, call, file, again } = await kept("git push origin main", "always");
    expect(await policy.decide(call("git push origin main"), context)).toMatchObject({ decision: "allow" });
    expect(await policy.decide(call("git  push origin main"), context)).toMatchObject({ decision: "allow" });
    expect(await again().decide(call("git  push origin main"), context)).toMatchObject({ decision: "allow" });
    const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
    expect(lines.map((line) => JSON.parse(line).v)).toEqual([undefined, 3]);
  });

  test("yield to later answers, whatever the spelling", async () => {
    const { policy, context, call, again } = await kept("git push origin main", "always");
    await policy.remember(call("git  push origin  main"), "never", context);
    for (const each of [policy, again()]) {
      expect(await each.decide(call("git push origin main"), context)).toMatchObject({ decision: "deny" });
    }
  });

  test("also apply to lines without plain words", async () => {
    const { policy, context, call } = await kept("make && make install", "never");
    expect(await policy.decide(call("make && make install"), context)).toMatchObject({ decision: "deny" });
    expect(await policy.decide(call("make &&  make install"), context)).toMatchObject({ decision: "ask" });
  });
});
