import { createHash } from "node:crypto";
import { appendFile, mkdir, readdir, stat, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPolicy, createRemembered, parseRuleset } from "../../src/policy/index.js";
import { bench } from "../tools/bench.js";
import { AUTO, callOf, contextOf } from "./call.js";

async function place() {
  const { cwd, outside } = await bench();
  const directory = join(outside, "remembered");
  const context = contextOf(cwd);
  const call = (command: string) => callOf("Bash", { command }, context.workspace);
  return {
    cwd,
    outside,
    directory,
    context,
    call,
    policy: createPolicy({ remembered: createRemembered({ directory }) }),
  };
}

test("always and never hold for the same tool with the same arguments, in any order, also in another process", async () => {
  const { policy, context, call, directory, cwd } = await place();
  await policy.remember(call("make"), "always", context);
  await policy.remember(call("rm x"), "never", context);
  const other = createPolicy({ remembered: createRemembered({ directory }) });
  expect(await other.decide(call("make"), context)).toMatchObject({ decision: "allow", rule: "remembered" });
  expect(await other.decide(call("make clean"), context)).toMatchObject({ decision: "ask" });
  expect(await other.decide(call("rm x"), contextOf(cwd, AUTO))).toMatchObject({
    decision: "deny",
    rule: "remembered",
  });
  await other.remember(call("rm x"), "always", context);
  expect(await policy.decide(call("rm x"), context)).toMatchObject({ decision: "allow" });
  const swapped = callOf("Bash", { timeout: 5, command: "x" }, context.workspace);
  await policy.remember(swapped, "always", context);
  expect(await policy.decide(callOf("Bash", { command: "x", timeout: 5 }, context.workspace), context)).toMatchObject({
    decision: "allow",
  });
});

test("it belongs to one workspace and lies outside of it, for its owner only", async () => {
  const { policy, context, call, directory, cwd } = await place();
  await policy.remember(call("make"), "always", context);
  const elsewhere = contextOf(join(cwd, ".."));
  expect(await policy.decide(call("make"), elsewhere)).toMatchObject({ decision: "ask" });
  expect(await readdir(cwd)).toEqual([]);
  const [file] = await readdir(directory);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect((await stat(join(directory, file as string))).mode & 0o777).toBe(0o600);
});

test("always settles a question and lifts no prohibition", async () => {
  const { context, call, directory, cwd } = await place();
  const remembered = createRemembered({ directory });
  await remembered.remember(cwd, call("make"), "always");
  const rules = parseRuleset('{"rules":[{"tool":"Bash","action":"deny"}]}', "f");
  expect(await createPolicy({ remembered, rules }).decide(call("make"), context)).toMatchObject({ decision: "deny" });
  expect(await createPolicy({ remembered }).decide(call("make"), contextOf(cwd, { readOnly: true }))).toMatchObject({
    decision: "deny",
  });
});

test("an answer about a path is about the file it meant", async () => {
  const { policy, context, cwd, outside } = await place();
  await mkdir(join(cwd, "a"));
  await symlink("a", join(cwd, "link"));
  const write = () => callOf("Write", { path: "link/x", content: "" }, context.workspace);
  await policy.remember(write(), "always", context);
  expect(await policy.decide(write(), context)).toMatchObject({ decision: "allow" });
  await unlink(join(cwd, "link"));
  await symlink(outside, join(cwd, "link"));
  expect(await policy.decide(write(), context)).toMatchObject({ decision: "ask" });
});

test("a torn line costs only itself", async () => {
  const { policy, context, call, directory } = await place();
  await policy.remember(call("one"), "always", context);
  const [file] = await readdir(directory);
  await appendFile(join(directory, file as string), '{"key":"half');
  await policy.remember(call("two"), "always", context);
  expect(await policy.decide(call("one"), context)).toMatchObject({ decision: "allow" });
  expect(await policy.decide(call("two"), context)).toMatchObject({ decision: "allow" });
});

test("a command of plain words is remembered by its words, and nothing looser", async () => {
  const { policy, context, call } = await place();
  const decision = async (command: string) => (await policy.decide(call(command), context)).decision;
  await policy.remember(call("git push origin main"), "always", context);
  for (const same of [
    "git  push   origin main",
    " git push\torigin main ",
    "git 'push' \"origin\" main",
    'git pu"sh" origin main',
  ])
    expect(await decision(same), same).toBe("allow");
  const others = [
    "git push origin main --force",
    "git push origin main; rm x",
    "git push origin main\nrm x",
    "git push origin main # x",
    "git push origin main > x",
    "git push origin $main",
    "git push origin ma\\in",
    "git push origin m*n",
    "X=1 git push origin main",
    "git 'push origin' main",
    "git push origin main &",
    "(git push origin main)",
  ];
  for (const other of others) expect(await decision(other), other).toBe("ask");
});

test.each([
  ["echo *", "echo '*'"],
  ["echo ~", "echo '~'"],
  ["echo $HOME", "echo '$HOME'"],
  ["echo {a,b}", "echo '{a,b}'"],
  ["echo `x`", "echo '`x`'"],
  ["time ls", "'time' ls"],
  ["A=b", "'A=b'"],
  ["echo a\\ b", "echo 'a\\ b'"],
  ['echo "a\\$b"', "echo 'a\\$b'"],
  ["echo #x", "echo '#x'"],
  ["if ls", "'if' ls"],
])("%s and %s are two commands", async (one, other) => {
  const { policy, context, call } = await place();
  await policy.remember(call(one), "always", context);
  expect((await policy.decide(call(other), context)).decision).toBe("ask");
  await policy.remember(call(other), "never", context);
  expect((await policy.decide(call(one), context)).decision).toBe("allow");
});

test("an answer that version 0.1 kept under the exact text still counts, until a new one is given", async () => {
  const { policy, context, call, directory, cwd } = await place();
  const key = createHash("sha256")
    .update(`{"args":{"command":"git push"},"reads":[${JSON.stringify(cwd)}],"tool":"Bash","writes":[]}`)
    .digest("hex");
  const file = join(directory, `${createHash("sha256").update(cwd).digest("hex").slice(0, 32)}.jsonl`);
  await mkdir(directory, { recursive: true });
  await appendFile(file, `\n${JSON.stringify({ key, answer: "always", tool: "Bash", workspace: cwd, at: "" })}\n`);
  expect((await policy.decide(call("git push"), context)).decision).toBe("allow");
  await policy.remember(call("git  push"), "never", context);
  expect((await policy.decide(call("git push"), context)).decision).toBe("deny");
});
