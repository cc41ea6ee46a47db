import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

const manifest = (name: string, fields: Record<string, unknown> = {}) => ({
  name: `@chimera/${name}`,
  exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
  ...fields,
});

/** Two packages and an app that keep every rule; a test breaks one of them. */
const sound: Record<string, unknown> = {
  "layers.json": {
    packages: { "packages/log": 0, "packages/engine": 1, "packages/peer": 1, "apps/prog": 2 },
    folders: { "packages/log/src": { events: 0, wire: 1 } },
    process: ["apps/prog"],
  },
  "packages/log/package.json": manifest("log", { dependencies: { valibot: "1.5.0" } }),
  "packages/log/src/index.ts": 'export { wire } from "./wire/index.js";\n',
  "packages/log/src/events/index.ts": 'import { object } from "valibot";\nexport const event = object({});\n',
  "packages/log/src/wire/index.ts": 'import { event } from "../events/index.js";\nexport const wire = event;\n',
  "packages/engine/package.json": manifest("engine", {
    dependencies: { "@chimera/log": "workspace:*" },
    devDependencies: { "@chimera/peer": "workspace:*" },
  }),
  "packages/engine/src/index.ts": 'import { wire } from "@chimera/log";\nexport const run = () => wire;\n',
  "packages/engine/test/run.test.ts": 'import { run } from "@chimera/engine";\nimport "@chimera/peer";\nrun();\n',
  "packages/peer/package.json": manifest("peer"),
  "packages/peer/src/index.ts": "export {};\n",
  "apps/prog/package.json": { name: "@chimera/prog", devDependencies: { "@chimera/engine": "workspace:*" } },
  "apps/prog/src/main.ts": 'import { run } from "@chimera/engine";\nprocess.exit(run() ? 0 : 1);\n',
};

const check = (changes: Record<string, unknown>) =>
  runScript("check-layers.mjs", scratchTree({ ...sound, ...changes }));

test("a sound tree passes", () => {
  expect(check({})).toMatchObject({ code: 0, stderr: "" });
});

const broken: [rule: string, changes: Record<string, unknown>, message: string][] = [
  [
    "a relative import that leaves the package",
    { "packages/engine/src/index.ts": '\nimport "../../log/src/index.js";\n' },
    "packages/engine/src/index.ts:2 imports ../../log/src/index.js, which leaves packages/engine",
  ],
  [
    "an undeclared import",
    { "packages/engine/src/index.ts": 'import "hono";\n' },
    "packages/engine/src/index.ts:1 imports hono, which is not a dependency of packages/engine",
  ],
  [
    "source that uses a development dependency",
    { "packages/engine/src/index.ts": 'export type T = import("@chimera/peer").T;\n' },
    "packages/engine/src/index.ts:1 imports @chimera/peer, which is only a development dependency",
  ],
  [
    "an upward import",
    {
      "packages/log/package.json": manifest("log", { dependencies: { "@chimera/engine": "workspace:*" } }),
      "packages/log/src/index.ts": 'import type {} from "@chimera/engine";\n',
      "packages/engine/package.json": manifest("engine"),
      "packages/engine/src/index.ts": "export {};\n",
      "packages/engine/test/run.test.ts": "",
    },
    "packages/log/src/index.ts:1 depends upward on packages/engine (layer 1) from packages/log (layer 0)",
  ],
  [
    "an upward manifest, before any import",
    { "packages/peer/package.json": manifest("peer", { devDependencies: { "@chimera/prog": "workspace:*" } }) },
    "packages/peer/package.json:10 depends upward on apps/prog",
  ],
  [
    "a sideways import",
    {
      "packages/engine/package.json": manifest("engine", { dependencies: { "@chimera/peer": "workspace:*" } }),
      "packages/engine/src/index.ts": 'export {} from "@chimera/peer";\n',
    },
    "packages/engine/src/index.ts:1 depends sideways on packages/peer",
  ],
  [
    "a deep import past the export map",
    { "packages/engine/src/index.ts": 'await import("@chimera/log/wire");\n' },
    "packages/engine/src/index.ts:1 imports @chimera/log/wire, which packages/log does not export",
  ],
  [
    "an import of the package's own name",
    { "packages/engine/src/index.ts": 'import "@chimera/engine";\n' },
    "packages/engine/src/index.ts:1 imports its own package by name",
  ],
  [
    "a folder that imports one above it",
    {
      "packages/log/src/events/index.ts": 'import "../wire/index.js";\n',
      "packages/log/src/wire/index.ts": "export {};\n",
    },
    "packages/log/src/events/index.ts:1 imports ../wire/index.js: src/events stands below src/wire",
  ],
  [
    "a cycle inside a package",
    {
      "packages/peer/src/index.ts": 'import "./a.js";\n',
      "packages/peer/src/a.ts": 'import type {} from "./index.js";\n',
    },
    "packages/peer/src/a.ts:1 import cycle: packages/peer/src/a.ts -> packages/peer/src/index.ts -> packages/peer/src/a.ts",
  ],
  [
    "a cycle between packages by way of tests",
    { "packages/peer/package.json": manifest("peer", { devDependencies: { "@chimera/engine": "workspace:*" } }) },
    "package cycle: packages/engine -> packages/peer -> packages/engine",
  ],
  [
    "ambient process state in a library",
    { "packages/peer/src/index.ts": 'export const home = process.env["HOME"];\n' },
    "packages/peer/src/index.ts:1 uses process.env, which only apps/prog may",
  ],
  ["a package without a layer", { "packages/stray/package.json": manifest("stray") }, "packages/stray has no layer"],
];

test.each(broken)("%s fails and names the place", (_rule, changes, message) => {
  const { code, stderr } = check(changes);
  expect(stderr).toContain(message);
  expect(code).toBe(1);
});
