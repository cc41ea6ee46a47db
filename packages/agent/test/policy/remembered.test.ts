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
