import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const manifest = (name: string, fields: Record<string, unknown> = {}) => ({
  name: `@chimera/${name}`,
  exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
  ...fields,
});

/** A package above another one. */
const sound: Record<string, unknown> = {
  "layers.json": { packages: { "packages/log": 0, "packages/core": 1 }, folders: {}, process: [] },
  "packages/log/package.json": manifest("log"),
  "packages/log/src/index.ts": "export const log = 1;\n",
  "packages/core/package.json": manifest("core", { dependencies: { "@chimera/log": "workspace:*" } }),
  "packages/core/src/index.ts": 'import { log } from "@chimera/log";\nexport const run = () => log;\n',
};

test("imports that lead down pass; one that leads up, or past an export map, fails at its line", () => {
  expect(runScript("check-layers.mjs", scratchTree(sound))).toMatchObject({ code: 0, stderr: "" });
  const broken = scratchTree({
    ...sound,
    "packages/log/package.json": manifest("log", { devDependencies: { "@chimera/core": "workspace:*" } }),
    "packages/core/src/index.ts": '\nawait import("@chimera/log/wire");\n',
  });
  const { code, stderr } = runScript("check-layers.mjs", broken);
  expect(stderr).toMatch(/packages\/log\/package\.json:\d+ depends upward on packages\/core/);
  expect(stderr).toContain(
    "packages/core/src/index.ts:2 imports @chimera/log/wire, which packages/log does not export",
  );
  expect(code).toBe(1);
});
