#!/usr/bin/env node
// Every gate and every test. Nothing stops at the first failure; the last line is `N passed, N failed`.
// `npm test`, or `npm test -- <vitest filters>` to choose tests (gates always run).
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot as root } from "./gate.mjs";
import { mapConcurrently, run } from "./run.mjs";

const tool = (name) => join(root, "node_modules", ".bin", name);
const script = (name, ...args) => [process.execPath, join(root, "scripts", name), ...args];

/** The slowest first, so that the short ones fill the gaps. */
const gates = {
  "packages: publint, attw, install from tarballs, consumers": script("check-packages.mjs"),
  "types: packages": ["pnpm", "exec", "turbo", "run", "typecheck", "--continue", "--output-logs=errors-only"],
  "examples: programs and documents": script("check-examples.mjs"),
  "types: repository tests": [tool("tsc"), "-p", "test"],
  "unused files, exports and dependencies": [tool("knip"), "--no-config-hints"],
  "format and lint": [tool("biome"), "ci", "."],
  "scripts and files before the first answers": script("check-start.mjs"),
  "layers and cycles": script("check-layers.mjs"),
  "browser entries": script("check-browser-entries.mjs"),
  "lockfile addresses": script("check-lockfile.mjs"),
  "manifests: origin, keywords, ranges": script("check-manifests.mjs"),
  "requirements ledger": script("requirements.mjs", "check"),
  "command line page": script("write-cli-doc.mjs", "--check"),
  "layer diagram": script("draw-layers.mjs", "--check"),
  "links in documents": script("check-docs.mjs"),
};

async function main(filters) {
  const started = Date.now();
  const outcomes = await mapConcurrently(Object.entries(gates), 2, runGateProcess);
  const tests = await runVitest(filters);
  const passed = outcomes.filter(Boolean).length + tests.passed;
  const failed = outcomes.filter((ok) => !ok).length + tests.failed;
  console.log(`\n${outcomes.length} gates, ${tests.passed + tests.failed} tests, ${seconds(started)}`);
  if (tests.skipped > 0) console.log(`${tests.skipped} skipped`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function runGateProcess([name, [command, ...args]]) {
  const started = Date.now();
  const { code, output } = await run(command, args, { cwd: root, shell: process.platform === "win32" }).catch(
    (error) => ({
      code: 1,
      output: error.message,
    }),
  );
  console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds(started)})`);
  if (code !== 0) console.log(output.trimEnd().replace(/^/gm, "     "));
  return code === 0;
}

/** Vitest shows its own progress; the counts come from its report. */
async function runVitest(filters) {
  const scratch = mkdtempSync(join(tmpdir(), "chimera-test-"));
  try {
    const report = join(scratch, "report.json");
    const args = ["run", "--passWithNoTests", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const shell = process.platform === "win32";
    const child = spawn(tool("vitest"), [...args, ...filters], {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      shell,
    });
    const code = await new Promise((resolve) => child.on("exit", resolve).on("error", () => resolve(1)));
    return countTests(code, report);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A file that could not be loaded, and a run that failed without a failed test, count as one failure each. */
function countTests(code, path) {
  const report = readReport(path);
  const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  const failed = report.numFailedTests + unloaded.length;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { testResults: [], numFailedTests: 0, numPassedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  }
}

function seconds(started) {
  return `${((Date.now() - started) / 1000).toFixed(1)} s`;
}

await main(process.argv.slice(2));
