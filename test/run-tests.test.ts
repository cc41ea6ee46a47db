// The closing lines of `npm test`: which tests did not run, and why that is or is not a failure.
import { spawnSync } from "node:child_process";
import { readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { repositoryRoot, scratchTree } from "./scratch.js";

const moduleOf = (name: string) => pathToFileURL(join(repositoryRoot, "scripts", name)).href;

/** Runs one test file on a machine that has Node alone. */
function closingLines(source: string, ...filters: string[]) {
  return closingLinesWith({}, source, ...filters);
}

function closingLinesWith(gates: Record<string, string[]>, source: string, ...filters: string[]) {
  const root = scratchTree({
    "a.test.js": source,
    "vitest.config.mjs": `import { needTags } from "${moduleOf("needs.mjs")}";
      export default { test: { globals: true, tags: await needTags() } };`,
  });
  const [bin, temporary] = [scratchTree({}), scratchTree({})];
  symlinkSync(process.execPath, join(bin, "node"));
  const program = `import { runTests } from "${moduleOf("run-tests.mjs")}";
    await runTests(${JSON.stringify(gates)}, ${JSON.stringify(["--root", root, ...filters])});`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
    env: { PATH: bin, TMPDIR: temporary, NO_COLOR: "1" },
  });
  const end = stdout.slice(stdout.indexOf("JSON report"));
  return { status, left: readdirSync(temporary), lines: end.trim().split("\n").slice(1).filter(Boolean) };
}

test("a test whose need is missing is listed by name, before the verdict", () => {
  const { status, lines } = closingLines(`
    test("runs", () => {});
    describe("over TLS", { tags: ["needs-openssl"] }, () => {
      beforeAll(() => { throw new Error("no certificate"); });
      test("connects", { tags: ["needs-jq"] }, () => {});
    });`);
  expect(lines).toEqual([
    expect.stringMatching(/^not run: .*a\.test\.js > over TLS > connects needs openssl, jq$/),
    expect.stringMatching(/^0 gates, 1 tests, /),
    "1 passed, 0 failed",
  ]);
  expect(status).toBe(0);
});

test("any other skipped test fails, unless tests were chosen by name", () => {
  const source = `test("runs", () => {}); test.skip("rests", () => {}); test.todo("waits");
    test("leaves", ({ skip }) => skip());`;
  const { status, lines } = closingLines(source);
  const missing = ["rests", "waits", "leaves"].map((name) => expect.stringMatching(new RegExp(`^FAIL .*> ${name}$`)));
  expect(lines).toEqual([...missing, expect.stringMatching(/^0 gates/), "1 passed, 3 failed"]);
  expect(status).toBe(1);
  expect(closingLines(source, "-t", "runs").lines.at(-1)).toBe("1 passed, 0 failed");
});

test("what tests leave in the temporary directory is listed, and removed", () => {
  const { status, left, lines } = closingLines(`
    import { mkdirSync } from "node:fs";
    import { tmpdir } from "node:os";
    test("leaves a directory", () => void mkdirSync(tmpdir() + "/forgotten"));`);
  expect(lines).toEqual([
    "left in the temporary directory: forgotten",
    expect.stringMatching(/^0 gates, 1 tests, /),
    "1 passed, 0 failed",
  ]);
  expect({ status, left }).toEqual({ status: 0, left: [] });
});

test("what a gate could not run is listed with the tests", () => {
  const gate = [process.execPath, "-p", `"fine\\nnot run: a page needs jq"`];
  const { lines } = closingLinesWith({ gate }, `test("runs", () => {});`);
  expect(lines).toEqual(["not run: a page needs jq", expect.stringMatching(/^1 gates, 1 tests/), "2 passed, 0 failed"]);
});
