import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const cli = `
  Promise.resolve(require("./part.js")).then(() => {
    process.stderr.write("listening on http://nowhere\\n");
    require("./later.js");
  });
  setInterval(() => {}, 1000);
`;
const greedy = `
  require("node:fs").readdirSync(process.cwd());
  require("./more.js");
  module.exports = import("./module.mjs");
`;

/** Starts a program that loads two scripts before it says where it listens, and one after. */
const check = (part: string, bytes: number) => {
  const before = { listening: { scripts: 2, bytes, files: [] } };
  const root = scratchTree({
    "apps/small/dist/cli.js": cli,
    "apps/small/dist/part.js": part,
    "apps/small/dist/later.js": "",
    "apps/small/dist/more.js": "",
    "apps/small/dist/module.mjs": "",
    "scripts/start-budget.json": { margin: 0.02, starts: [{ command: "small serve", before }] },
  });
  return runScript("check-start.mjs", root);
};

test("a start within its budget passes; scripts of both kinds, bytes and files above it are named", () => {
  expect(check("/* ten */ ", cli.length + 10)).toEqual({
    code: 0,
    stdout: `small serve: before listening 2 scripts of ${cli.length + 10} bytes and 0 other files\n`,
    stderr: "",
  });
  const { code, stderr } = check(greedy, cli.length);
  expect(stderr).toContain("$CWD is opened, which scripts/start-budget.json does not name");
  expect(stderr).toMatch(/4 scripts are loaded, not 2: .*\$CODE\/more\.js.*\$CODE\/module\.mjs/);
  expect(stderr).toContain(`bytes of scripts are loaded, more than ${cli.length} and 2 %`);
  expect(code).toBe(1);
  const ended = check('console.error("no such luck"); process.exit(3)', cli.length);
  expect(ended.stderr).toContain("small serve ended before it answered: no such luck");
  expect(ended.code).toBe(1);
});
