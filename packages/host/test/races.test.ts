import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const RACES = fileURLToPath(new URL("../races/run.mjs", import.meta.url));

it("one of several simultaneous starts wins, and no pidfile ever has two owners", { timeout: 60_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [RACES, "5", "30"]);
  expect(stdout).toMatch(
    /^starts: executed 5 of 5, 1 won, 4 named the winner\nowners: executed \d+ of at least 30, \d+ stops, 0 violations\n$/,
  );
});
