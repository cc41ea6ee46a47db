import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { repositoryRoot, scratchTree } from "./scratch.js";

/** A registry that knows one package, which wants a binary for each of two systems. */
async function registry(): Promise<string> {
  const server = createServer((request, response) => {
    const known = request.url === "/tool/1.0.0";
    const wants = { optionalDependencies: known ? { "@tool/linux": "1.0.0", "@tool/darwin": "1.0.0" } : {} };
    response.end(JSON.stringify(wants));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function check(locked: string[]): Promise<{ code: number; stderr: string }> {
  const packages = locked.map((id) => `  '${id}':\n    resolution: {integrity: sha512-x==}\n`).join("");
  const root = scratchTree({ "pnpm-lock.yaml": `packages:\n${packages}` });
  const script = join(repositoryRoot, "scripts", "check-lock-platforms.mjs");
  const env = { ...process.env, npm_config_registry: await registry() };
  return await promisify(execFile)(process.execPath, [script, root], { env }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error) => ({ code: error.code, stderr: error.stderr }),
  );
}

test("a lockfile with every platform's binary passes; a binary that was dropped is named", async () => {
  expect(await check(["tool@1.0.0", "@tool/linux@1.0.0", "@tool/darwin@1.0.0"])).toEqual({ code: 0, stderr: "" });
  const { code, stderr } = await check(["tool@1.0.0", "@tool/linux@1.0.0"]);
  expect(stderr).toContain("tool@1.0.0 wants @tool/darwin, which the lockfile does not hold");
  expect(code).toBe(1);
});
