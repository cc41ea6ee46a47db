import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const RACES = fileURLToPath(new URL("../races/run.mjs", import.meta.url));

it("one of several simultaneous starts wins, and no pidfile ever has two owners", { timeout: 60_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [RACES, "5", "30"]);
  expect(stdout).toMatch(/^5 starts: 1 won, 4 were told who did\n\d+ owners, \d+ stops, 0 violations\n$/);
});
