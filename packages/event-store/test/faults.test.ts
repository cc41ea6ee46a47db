import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const RUNNER = new URL("../faults/run.mjs", import.meta.url).pathname;

it("survives the faults that need no privileges, all of them executed", { timeout: 240_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [RUNNER, "--smoke"]).catch((error) => error);
  console.log(stdout);
  expect(stdout.match(/^ok {3}.+: executed \d+ of .*\d+, 0 failures/gm) ?? []).toHaveLength(6);
  expect(stdout).toContain("all faults survived");
});
