import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const tree = (source: string) =>
  scratchTree({
    "layers.json": { browser: { "@chimera/schema": 1 } },
    "packages/schema/package.json": {
      name: "@chimera/schema",
      exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
      tsup: { entry: { index: "src/index.ts" } },
    },
    "packages/schema/src/index.ts": 'export { shape } from "./shape.js";\n',
    "packages/schema/src/shape.ts": source,
  });

test("an entry without Node passes; a Node builtin anywhere below it fails and is named", () => {
  const sound = runScript("check-browser-entries.mjs", tree("export const shape = 1;\n"));
  expect(sound).toMatchObject({ code: 0, stderr: "" });
  const broken = runScript(
    "check-browser-entries.mjs",
    tree('\nimport { sep } from "node:path";\nexport const shape = sep;\n'),
  );
  expect(broken.stderr).toMatch(/packages\/schema\/src\/shape\.ts:2 .*node:path/);
  expect(broken.code).toBe(1);
});
