// Runs gates, then tests, and prints the closing lines. Nothing stops at the first failure; tests whose needs are not met are
// listed by name, and the last line is `N passed, N failed`. Gates and tests have a temporary directory of their own, which is
// removed at the end; what they left in it is listed.
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { repositoryRoot as root } from "./gate.mjs";
import { needTags } from "./needs.mjs";
import { mapConcurrently, run } from "./run.mjs";

/**
 * @param {Record<string, string[]>} gates command lines by name, the slowest first so that the short ones fill the gaps
 * @param {string[]} filters arguments for vitest
 * @param {string[]} [remarks] printed before the closing lines
 */
export async function runTests(gates, filters, remarks = []) {
  const started = Date.now();
  const scratch = mkdtempSync(join(tmpdir(), "tests-"));
  // Some tests run programs as another user.
  chmodSync(scratch, 0o1777);
  const env = { ...process.env, TMPDIR: scratch };
  const outcomes = await mapConcurrently(Object.entries(gates), 2, (gate) => runGateProcess(gate, env));
  const tests = await runVitest(filters, env);
  const left = readdirSync(scratch).map((name) => `left in the temporary directory: ${name}`);
  rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  const passed = outcomes.filter(({ ok }) => ok).length + tests.passed;
  const failed = outcomes.filter(({ ok }) => !ok).length + tests.failed;
  const notRun = outcomes.flatMap((outcome) => outcome.notRun);
  console.log(["", ...notRun, ...tests.remarks, ...left, ...remarks].join("\n"));
  console.log(`${outcomes.length} gates, ${tests.passed + tests.failed} tests, ${seconds(started)}`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

// --- internal ---

const shell = process.platform === "win32";

async function runGateProcess([name, [command, ...args]], env) {
  const started = Date.now();
  const { code, output } = await run(command, args, { cwd: root, env, shell }).catch((error) => ({
    code: 1,
    output: error.message,
  }));
  console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds(started)})`);
  if (code !== 0) console.log(output.trimEnd().replace(/^/gm, "     "));
  return { ok: code === 0, notRun: code === 0 ? (output.match(/^not run: .*$/gm) ?? []) : [] };
}

/** Vitest shows its own progress; the counts come from its report. */
async function runVitest(filters, env) {
  const scratch = mkdtempSync(join(tmpdir(), "tests-report-"));
  try {
    const report = join(scratch, "report.json");
    const args = ["run", "--passWithNoTests", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const child = spawn(join(root, "node_modules", ".bin", "vitest"), [...args, ...filters], {
      cwd: root,
      env,
      stdio: ["ignore", "inherit", "inherit"],
      shell,
    });
    const code = await new Promise((resolve) => child.on("exit", resolve).on("error", () => resolve(1)));
    return judge(code, readReport(report), await needTags(), filters.some(choosesByName));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * A file that could not be loaded, a test skipped for no need, and a run that failed without a failed test count as one failure each.
 * Vitest reports a test that `-t` left out as skipped, so with it nothing can be said.
 */
function judge(code, report, tags, isChosenByName) {
  const unmet = new Map(tags.filter(({ skip }) => skip).map(({ name, description }) => [name, description]));
  const files = report.testResults;
  const unloaded = files.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  const skipped = files
    .flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })))
    .filter(({ status }) => status !== "passed" && status !== "failed")
    .map((test) => ({ name: nameOf(test), needs: test.tags.flatMap((tag) => unmet.get(tag) ?? []) }));
  const groundless = isChosenByName ? [] : skipped.filter(({ needs }) => needs.length === 0);
  const failed = report.numFailedTests + unloaded.length + groundless.length;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    remarks: [
      ...skipped
        .filter(({ needs }) => needs.length > 0)
        .map((one) => `not run: ${one.name} needs ${one.needs.join(", ")}`),
      ...groundless.map(({ name }) => `FAIL did not run, and names no need that is missing: ${name}`),
    ],
  };
}

function nameOf({ file, ancestorTitles, title }) {
  return [relative(root, file), ...ancestorTitles, title].filter(Boolean).join(" > ");
}

const choosesByName = (filter) => /^(-t|--testNamePattern|--tags)/.test(filter);

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { testResults: [], numFailedTests: 0, numPassedTests: 0 };
  }
}

function seconds(started) {
  return `${((Date.now() - started) / 1000).toFixed(1)} s`;
}
