import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

test("a lockfile of integrity hashes passes; one that holds an address fails at its line", () => {
  const check = (resolution: string) => {
    const lockfile = `packages:\n  a@1.0.0:\n    resolution: ${resolution}\n`;
    return runScript("check-lockfile.mjs", scratchTree({ "pnpm-lock.yaml": lockfile }));
  };
  expect(check("{integrity: sha512-x==}")).toMatchObject({ code: 0, stderr: "" });
  const { code, stderr } = check("{integrity: sha512-x==, tarball: https://registry.example/a.tgz}");
  expect(stderr).toContain("pnpm-lock.yaml:3 holds an address");
  expect(code).toBe(1);
});
