import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it.each(["embed-agent", "custom-provider"])("the example %s runs and agrees with itself", async (name) => {
  const main = fileURLToPath(new URL(`../../../examples/${name}/main.mjs`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [main], { timeout: 15_000 });
  expect(stdout).not.toBe("");
});
