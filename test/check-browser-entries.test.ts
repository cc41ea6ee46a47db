import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const tree = (source: string, budget: number) =>
  scratchTree({
    "layers.json": { browser: { "@chimera/schema": budget } },
    "packages/schema/package.json": {
      name: "@chimera/schema",
      exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
      tsup: { entry: { index: "src/index.ts" } },
    },
    "packages/schema/src/index.ts": 'export { shape } from "./shape.js";\n',
    "packages/schema/src/shape.ts": source,
  });

test("an entry without Node, inside its budget, passes", () => {
  expect(runScript("check-browser-entries.mjs", tree("export const shape = 1;\n", 1))).toMatchObject({
    code: 0,
    stderr: "",
  });
});

test("a Node builtin anywhere below the entry fails and names the import", () => {
  const root = tree('\nimport { sep } from "node:path";\nexport const shape = sep;\n', 1);
  const { code, stderr } = runScript("check-browser-entries.mjs", root);
  expect(stderr).toMatch(/packages\/schema\/src\/shape\.ts:2 .*node:path/);
  expect(code).toBe(1);
});

test("an entry over its budget fails and says by how much", () => {
  const noise = Array.from({ length: 400 }, (_, index) => `"${Math.sin(index)}"`).join(",");
  const { code, stderr } = runScript("check-browser-entries.mjs", tree(`export const shape = [${noise}];\n`, 1));
  expect(stderr).toMatch(/@chimera\/schema is \d\.\d KiB, over its budget of 1/);
  expect(code).toBe(1);
});

test("a promise about an entry that does not exist fails", () => {
  const root = scratchTree({ "layers.json": { browser: { "@chimera/gone": 1 } } });
  expect(runScript("check-browser-entries.mjs", root).stderr).toContain(
    "names @chimera/gone, which no package exports",
  );
});
