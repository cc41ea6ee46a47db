// How many of our source files have a function that runs during one warm prompt over ACP: what a newcomer has to read to follow one.
// The program is bundled with a source map, and V8's counters are reset right before the prompt.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { build } from "esbuild";
import { repositoryRoot } from "../scripts/gate.mjs";
import { readPackages } from "../scripts/workspace.mjs";
import { startAcp } from "./acp-client.mjs";
import { startChatModel } from "./chat-model.mjs";
import { cleanEnv, row } from "./report.mjs";

/** What the counters are written by: V8 does it on demand, and begins anew. */
const HOOK = 'process.on("SIGUSR2", () => require("node:v8").takeCoverage());';

const scratch = mkdtempSync(join(tmpdir(), "chimera-modules-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

const program = await bundle();
const modules = await modulesOfAPrompt(program);
row({ name: "source files with a function that runs in a warm prompt", ours: modules.length, unit: "", target: "74" });
if (process.argv.includes("--list")) console.log(modules.join("\n"));

async function bundle() {
  const entries = new Map();
  for (const { path, entries: own } of readPackages(repositoryRoot))
    for (const [name, target] of Object.entries(own))
      entries.set(name, join(path, target.replace("./dist/", "src/").replace(/\.js$/, ".ts")));
  const outfile = join(scratch, "otter", "cli.cjs");
  await build({
    entryPoints: [join(repositoryRoot, "apps", "otter", "src", "main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    sourcemap: true,
    logLevel: "error",
    tsconfigRaw: {},
    external: ["@vscode/ripgrep"],
    plugins: [
      {
        name: "sources",
        setup: ({ onResolve }) =>
          onResolve({ filter: /^@chimera\// }, ({ path }) =>
            entries.has(path) ? { path: entries.get(path) } : undefined,
          ),
      },
    ],
  });
  writeFileSync(join(scratch, "otter", "package.json"), JSON.stringify({ name: "otter", version: "0.0.0" }));
  return outfile;
}

async function modulesOfAPrompt(file) {
  const [hook, coverage, cwd] = ["hook.cjs", "coverage", "work"].map((name) => join(scratch, name));
  writeFileSync(hook, HOOK);
  mkdirSync(cwd);
  const model = await startChatModel();
  const env = cleanEnv({
    HOME: scratch,
    CHIMERA_HOME: join(scratch, "home"),
    OPENAI_API_KEY: "none",
    OPENAI_BASE_URL: model.url,
    NODE_V8_COVERAGE: coverage,
  });
  const acp = startAcp(["--require", hook, file, "serve", "--acp", "--model", "gpt-4o"], { env, cwd });
  const reports = () => readdirSync(coverage).length;
  const take = async () => {
    const before = reports();
    process.kill(acp.pid, "SIGUSR2");
    while (reports() === before) await pause(10);
    await pause(50);
    return readdirSync(coverage).toSorted();
  };
  await acp.initialize();
  const sessionId = await acp.open(cwd);
  for (let i = 0; i < 3; i++) await acp.prompt(sessionId, 1);
  await pause(300);
  mkdirSync(coverage, { recursive: true });
  const before = new Set(await take());
  await acp.prompt(sessionId, 1);
  await pause(300);
  const last = (await take()).find((name) => !before.has(name));
  const found = executed(join(coverage, last), file);
  await acp.end();
  await model.close();
  return found;
}

/** The source files of the functions that a report says were run. */
function executed(report, file) {
  const { result } = JSON.parse(readFileSync(report, "utf8"));
  const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, "utf8")));
  const text = readFileSync(file, "utf8");
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const lineOf = (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const found = new Set();
  for (const { functions } of result.filter(({ url }) => url.endsWith("cli.cjs"))) {
    for (const { functionName, ranges } of functions) {
      const [{ startOffset, count }] = ranges;
      // The wrapper that esbuild puts around a module runs once, when the module is loaded.
      if (count === 0 || functionName === "" || startOffset === 0) continue;
      const line = lineOf(startOffset);
      const { originalSource } = map.findEntry(line, startOffset - starts[line]);
      if (originalSource === undefined) continue;
      const source = relative(repositoryRoot, resolve(join(scratch, "otter"), originalSource));
      if (/^(packages|apps)\//.test(source)) found.add(source);
    }
  }
  return [...found].toSorted();
}
