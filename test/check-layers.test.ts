import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const manifest = (name: string, fields: Record<string, unknown> = {}) => ({
  name: `@chimera/${name}`,
  exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
  ...fields,
});

/** A package above another one. */
const sound: Record<string, unknown> = {
  "layers.json": { packages: { "packages/log": 0, "packages/core": 1 }, folders: {}, process: [], mostCode: 1000 },
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

test("a function that fits on a screen passes, and so does one that was longer before; one that grows fails at its line", () => {
  const withLong = (lines: number, longFunctions: Record<string, number>) =>
    scratchTree({
      ...sound,
      "layers.json": { ...(sound["layers.json"] as object), longFunctions },
      "packages/log/src/index.ts": `\nexport const log = () => {\n${"  1;\n".repeat(lines - 2)}};\n`,
    });
  const row = "packages/log/src/index.ts log";
  const run = (lines: number, table = {}) => runScript("check-layers.mjs", withLong(lines, table));
  expect(run(80)).toMatchObject({ code: 0, stderr: "" });
  expect(run(100, { [row]: 100 })).toMatchObject({ code: 0, stderr: "" });
  const refused = [run(81), run(101, { [row]: 100 }), run(80, { [row]: 100 })];
  expect(refused.map(({ code }) => code)).toEqual([1, 1, 1]);
  expect(refused[0]!.stderr).toContain("packages/log/src/index.ts:2 log has 81 lines, more than 80");
  expect(refused[1]!.stderr).toContain('log has 101 lines, more than the 100 of layers.json "longFunctions"');
  expect(refused[2]!.stderr).toContain(`names ${row}, which is not longer than 80 lines: remove it`);
});

test("the whole keeps to its lines of code, and a file to its length; comments and blank lines are free", () => {
  const withCode = (text: string) =>
    scratchTree({
      ...sound,
      "layers.json": { ...(sound["layers.json"] as object), mostCode: 6 },
      "packages/log/src/index.ts": text,
    });
  const run = (text: string) => runScript("check-layers.mjs", withCode(text));
  const commented = "/** Why.\n * More.\n */\n\n// And this.\nexport const log = 1;\nlog;\nlog;\n";
  expect(run(commented)).toMatchObject({ code: 0, stderr: "" });
  expect(run(`${commented}log;\nlog;\n`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("allows 6 lines of code, and there are 7: take something out"),
  });
  const { mostCode: _, ...boundless } = sound["layers.json"] as Record<string, unknown>;
  expect(runScript("check-layers.mjs", scratchTree({ ...sound, "layers.json": boundless }))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("says nowhere how many lines of code there may be"),
  });
  expect(run(`export const log = 1;\n${"// More.\n".repeat(350)}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("packages/log/src/index.ts:1 has 351 lines, more than 350"),
  });
});
