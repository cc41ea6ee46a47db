// The built program with real models: what the fakes of the vendors claim is held against the vendors themselves. A provider whose key is
// not set is listed, and a run in which none is set fails, so that nothing passes unseen.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ProviderName, type ProviderRow, providers } from "../../packages/agent/src/providers/table.js";
import { startProgram } from "../program.js";
import { scratchTree } from "../scratch.js";

/** The model that is asked, unless `CHIMERA_LIVE_<PROVIDER>` names another one. A cheap one that calls tools will do. */
const MODELS = {
  anthropic: "claude-haiku-5-5",
  openai: "gpt-6-luna",
  azure: "azure/gpt-6-luna",
  openrouter: "openrouter/anthropic/claude-haiku-5.5",
  xai: "grok-4.7",
  google: "gemini-3.8-flash",
  deepseek: "deepseek-flash",
  vllm: "vllm/openai/gpt-oss-20b",
  sglang: "sglang/openai/gpt-oss-20b",
  ollama: "ollama/gpt-oss:20b",
} as const satisfies Record<Exclude<ProviderName, "offline" | "scripted">, string>;

/** Nothing that a model would say by chance. */
const WORD = "heliotrope";

const rows = (Object.keys(MODELS) as (keyof typeof MODELS)[]).map((name) => {
  const { keys = [], keyNeeded, baseUrl }: ProviderRow = providers[name];
  const [key, base] = [keys.map((one) => one.env), baseUrl ? [baseUrl.env] : []];
  // One's own server needs no key, and is there when somebody says where.
  const wanted = keyNeeded ? key : [...key, ...base];
  const taken = [...key, ...base].filter((variable) => process.env[variable]);
  const env = Object.fromEntries(taken.map((variable) => [variable, process.env[variable]!]));
  const model = process.env[`CHIMERA_LIVE_${name.toUpperCase()}`] ?? MODELS[name];
  return { name, model, env, wanted, isSet: wanted.some((variable) => process.env[variable]) };
});
const [set, unset] = [rows.filter(({ isSet }) => isSet), rows.filter(({ isSet }) => !isSet)];
for (const { name, wanted } of unset) console.log(`not run: ${name} needs ${wanted.join(" or ")}`);

test("there is a key to run with", () => {
  expect(set.map(({ name }) => name)).not.toEqual([]);
});

describe.each(set)("$name, $model", ({ model, env }) => {
  test("reads a file when it is asked to, is counted, and remembers it in a new process", async () => {
    const home = scratchTree({});
    const cwd = scratchTree({ "note.txt": `The word is ${WORD}.\n` });
    const ask = (...args: string[]) => run(["-p", ...args, "--model", model], env, { home, cwd });
    const first = await ask("Read note.txt with your tool and answer with the word that it names, and nothing else.");
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(WORD, "i")) });
    const [session] = readdirSync(join(home, "eventlog"));
    const summary = JSON.parse(readFileSync(join(home, "eventlog", session!, "summary.json"), "utf8"));
    expect(summary).toMatchObject({ success: true, tool_calls_total: expect.any(Number) });
    expect(summary.tool_calls_total).toBeGreaterThan(0);
    expect(summary.total_tokens).toBeGreaterThan(0);
    const again = await ask("Which word was it? Do not read anything.", "--continue");
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(WORD, "i")) });
  });

  const keys = Object.keys(env).filter((name) => /_(KEY|TOKEN)$/.test(name));

  test.runIf(keys.length > 0)("a wrong key is said to be one, and nothing more is tried", async () => {
    const wrong = { ...env, ...Object.fromEntries(keys.map((name) => [name, "wrong"])) };
    const { code, stderr } = await run(["-p", "hello", "--model", model], wrong, {});
    expect(code).toBe(1);
    expect(stderr).toMatch(/key|401|403|auth/i);
    expect(stderr).not.toContain("trying again");
  });
});

async function run(args: string[], env: Record<string, string>, place: { home?: string; cwd?: string }) {
  const program = startProgram("otter", args, env, { ...place, atEnd: onTestFinished });
  let stdout = "";
  program.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  program.child.stdin.end();
  return { code: await program.exited, stdout, stderr: program.stderr() };
}
