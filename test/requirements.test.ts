import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const ONE = { id: "demo.one", promise: "It does one.", transports: ["http"] };
const PROVEN = { ...ONE, tests: { "packages/a/test/one.test.ts": ["it holds"] } };
const TESTS = {
  "packages/a/test/one.test.ts": 'import { test } from "vitest";\n// it fails\ntest("it holds", () => {});\n',
};

const requirements = (root: string, ...args: string[]) => runScript("requirements.mjs", `--root=${root}`, ...args);

/** A tree with this ledger, and the page that belongs to it. */
function tree(rows: readonly object[], page = true): string {
  const root = scratchTree({ "test/requirements.json": { "A source": rows }, ...TESTS });
  if (page) requirements(root, "write");
  return root;
}

test("a row whose test is there, and one that says why it has none, pass", () => {
  const root = tree([PROVEN, { ...ONE, id: "demo.two", known_failure: "needs a clock" }]);
  expect(requirements(root, "check")).toMatchObject({ code: 0, stderr: "" });
  expect(existsSync(join(root, "test/requirements.md"))).toBe(true);
});

test.each([
  [
    "a test that is not in its file",
    { tests: { "packages/a/test/one.test.ts": ["it fails"] } },
    "does not have: it fails",
  ],
  ["a file that is not there", { tests: { "gone.test.ts": ["it holds"] } }, "names gone.test.ts, which is not there"],
  ["neither a test nor a reason", {}, "needs either tests, or a known_failure"],
  ["both", { ...PROVEN, known_failure: "never" }, "needs either tests, or a known_failure"],
  ["an unknown transport", { ...PROVEN, transports: ["pigeon"] }, "names the transport pigeon"],
])("a row with %s fails and is named", (_what, row, problem) => {
  const { code, stderr } = requirements(tree([{ ...ONE, ...row }]), "check");
  expect(stderr).toContain("test/requirements.json: demo.one ");
  expect(stderr).toContain(problem);
  expect(code).toBe(1);
});

test("an id that is listed twice fails", () => {
  expect(requirements(tree([PROVEN, PROVEN]), "check").stderr).toContain("demo.one is there twice");
});

test("a page that the ledger contradicts fails, and write mends it", () => {
  const root = tree([PROVEN], false);
  expect(requirements(root, "check").stderr).toContain("npm run requirements -- write");
  requirements(root, "write");
  expect(requirements(root, "check").code).toBe(0);
});

test("rows are shown with their tests by the start of their id", () => {
  const root = tree([PROVEN, { ...PROVEN, id: "other.two" }]);
  expect(requirements(root, "show", "demo").stdout).toBe(
    "demo.one: It does one. (http)\n  packages/a/test/one.test.ts: it holds\n",
  );
});

test("an unknown command is refused with the choices", () => {
  expect(requirements(tree([]), "shut")).toMatchObject({
    code: 2,
    stderr: "unknown command shut: one of count, show, write, check\n",
  });
});
