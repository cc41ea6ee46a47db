import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const ledger = (...rows: string[]) =>
  ["# Requirements", "", "## A source", "", "| id | promise | transports | state |", "|---|---|---|---|", ...rows].join(
    "\n",
  );

const tree = (rows: string[], tests: Record<string, string> = {}) =>
  scratchTree({ "test/requirements.md": ledger(...rows), ...tests });

const requirements = (root: string, ...args: string[]) => runScript("requirements.mjs", `--root=${root}`, ...args);

const cites = (id: string) => `import { test } from "vitest";\ntest("[${id}] holds", () => {});\n`;

test("a done row with its test, and an open row without, pass", () => {
  const root = tree(
    ["| demo.one | It does one. | http | done: packages/a/test/one.test.ts |", "| demo.two | And two. | http | open |"],
    { "packages/a/test/one.test.ts": cites("demo.one") },
  );
  expect(requirements(root, "check")).toMatchObject({ code: 0, stderr: "" });
});

test("a done row that no test cites fails and names the row", () => {
  const root = tree(["| demo.one | It does one. | http | done: packages/a/test/one.test.ts |"]);
  const { code, stderr } = requirements(root, "check");
  expect(stderr).toContain("test/requirements.md:7 demo.one is done, but no test cites [demo.one]");
  expect(code).toBe(1);
});

test.each(["demo.three", "misspelt.one"])("a test that cites %s, which is unknown, fails and names the test", (id) => {
  const root = tree(["| demo.one | It does one. | http | open |"], { "test/three.test.ts": cites(id) });
  const { code, stderr } = requirements(root, "check");
  expect(stderr).toContain(`test/three.test.ts cites [${id}], which test/requirements.md does not list`);
  expect(code).toBe(1);
});

test("a state that the tests contradict fails, and sync mends it", () => {
  const root = tree(["| demo.one | It does one. | http | open |"], { "test/one.test.ts": cites("demo.one") });
  expect(requirements(root, "check").stderr).toContain('says "open" where the tests say "done: test/one.test.ts"');
  requirements(root, "sync");
  expect(readFileSync(join(root, "test/requirements.md"), "utf8")).toContain("| done: test/one.test.ts |");
  expect(requirements(root, "check").code).toBe(0);
});

test("a comment does not count as a citation", () => {
  const root = tree(["| demo.one | It does one. | http | open |"], { "test/one.test.ts": "// [demo.one] later\n" });
  expect(requirements(root, "check").code).toBe(0);
});

test("an id that is listed twice fails", () => {
  const row = "| demo.one | It does one. | http | open |";
  expect(requirements(tree([row, row]), "check").stderr).toContain("test/requirements.md:8 demo.one is there twice");
});

test("open rows can be listed by the start of their id", () => {
  const root = tree(["| demo.one | It does one. | http | open |", "| other.two | And two. | http | open |"]);
  expect(requirements(root, "open", "demo").stdout).toBe("demo.one                         It does one.\n");
});

test("an unknown command is refused with the choices", () => {
  expect(requirements(tree([]), "shut")).toMatchObject({
    code: 2,
    stderr: "unknown command shut: one of count, open, sync, check\n",
  });
});
