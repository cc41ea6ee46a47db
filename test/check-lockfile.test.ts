import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

test("a lockfile of integrity hashes passes", () => {
  const root = scratchTree({ "pnpm-lock.yaml": "packages:\n  a@1.0.0:\n    resolution: {integrity: sha512-x==}\n" });
  expect(runScript("check-lockfile.mjs", root)).toMatchObject({ code: 0, stderr: "" });
});

test.each(["{integrity: sha512-x==, tarball: https://registry.example/a.tgz}", "git+ssh://host.example/a"])(
  "a lockfile that holds %s fails and names the line",
  (resolution) => {
    const root = scratchTree({ "pnpm-lock.yaml": `packages:\n  a@1.0.0:\n    resolution: ${resolution}\n` });
    const { code, stderr } = runScript("check-lockfile.mjs", root);
    expect(stderr).toContain("pnpm-lock.yaml:3 holds an address");
    expect(code).toBe(1);
  },
);
