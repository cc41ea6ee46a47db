import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

/** A package after a build. */
const built = (name: string, changes: Record<string, string> = {}, folder = "packages") => ({
  [`${folder}/${name}/package.json`]: {
    name: `@chimera/${name}`,
    version: "1.2.3",
    license: "MIT",
    type: "module",
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
    bin: { [name]: "./dist/cli.js" },
    files: ["dist"],
  },
  [`${folder}/${name}/dist/index.js`]: "export const answer = 42;\n",
  [`${folder}/${name}/dist/index.d.ts`]: "export declare const answer: number;\n",
  [`${folder}/${name}/dist/cli.js`]: '#!/usr/bin/env node\nconsole.log("1.2.3");\n',
  ...Object.fromEntries(Object.entries(changes).map(([file, text]) => [`${folder}/${name}/dist/${file}`, text])),
});

const check = (...packages: Record<string, unknown>[]) =>
  runScript(
    "check-packages.mjs",
    scratchTree({
      "layers.json": { browser: { "@chimera/page": 1 } },
      "package.json": { name: "scratch", private: true },
      "pnpm-workspace.yaml": "packages:\n  - packages/*\n  - apps/*\n",
      ...Object.assign({}, ...packages),
    }),
  );

test("what breaks after the installation is named by its package", { timeout: 60_000 }, () => {
  const { code, stderr } = check(
    built("sound"),
    built("module", { "index.js": 'import "./gone.js";\n' }),
    built("program", { "cli.js": '#!/usr/bin/env node\nimport "valibot";\n' }),
    built("types", { "index.d.ts": "export declare const answer: Missing;\n" }),
    built("page", {
      "index.js": 'import "node:fs";\n',
      "index.d.ts": "export declare const stream: NodeJS.ReadableStream;\n",
    }),
    built("otter", {}, "apps"),
    built("mystery", {}, "apps"),
  );
  expect(stderr).toMatch(/^@chimera\/module does not import: Cannot find module .*gone\.js/m);
  expect(stderr).toContain("packages/program installed: `program --version` ended with 1");
  expect(stderr).toMatch(/a node16 consumer does not compile: .*types\/dist\/index\.d\.ts.*'Missing'/);
  expect(stderr).toMatch(/a bundler consumer does not compile: .*types\/dist\/index\.d\.ts.*'Missing'/);
  expect(stderr).toMatch(/a browser consumer does not compile: .*page\/dist\/index\.d\.ts.*'NodeJS'/);
  expect(stderr).toContain('a browser bundle fails: Could not resolve "node:fs"');
  expect(stderr).toContain("apps/otter installed: `otter` serve --port 0: ended too early");
  expect(stderr).toContain("apps/otter installed: `otter` serve --acp: ");
  expect(stderr).toContain("apps/mystery installed: `mystery` is served nobody knows how");
  expect(stderr).not.toContain("sound");
  expect(code).toBe(1);
});
