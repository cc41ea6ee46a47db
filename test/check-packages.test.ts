import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

/** A package as it is after a build. */
const built = (name: string, changes: Record<string, string> = {}) => ({
  [`packages/${name}/package.json`]: {
    name: `@chimera/${name}`,
    version: "1.2.3",
    license: "MIT",
    type: "module",
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    bin: { [name]: "./dist/cli.js" },
    files: ["dist"],
  },
  [`packages/${name}/dist/index.js`]: "export const answer = 42;\n",
  [`packages/${name}/dist/index.d.ts`]: "export declare const answer: number;\n",
  [`packages/${name}/dist/cli.js`]: '#!/usr/bin/env node\nconsole.log("1.2.3");\n',
  ...Object.fromEntries(Object.entries(changes).map(([file, text]) => [`packages/${name}/dist/${file}`, text])),
});

const check = (...packages: Record<string, unknown>[]) =>
  runScript(
    "check-packages.mjs",
    scratchTree({
      "layers.json": { browser: {} },
      "package.json": { name: "scratch", private: true },
      "pnpm-workspace.yaml": "packages:\n  - packages/*\n",
      ...Object.assign({}, ...packages),
    }),
  );

test("a sound package passes; declarations that mislead fail and are named", { timeout: 60_000 }, () => {
  expect(check(built("sound"))).toMatchObject({ code: 0, stderr: "" });
  const { code, stderr } = check(built("sound"), built("types", { "index.d.ts": 'export * from "./gone.js";\n' }));
  expect(stderr).toContain("packages/types/package.json types: InternalResolutionError");
  expect(stderr).not.toContain("packages/sound");
  expect(code).toBe(1);
});
