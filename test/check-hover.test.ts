import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

test("functions that embedders import have an example that compiles; others are named", () => {
  const shown = (code: string, name: string) =>
    `/**\n * Does it.\n *\n * @example\n * ${code}\n */\nexport function ${name}() {}\n`;
  const root = scratchTree({
    "packages/agent/package.json": '{"name":"@x/agent","exports":{".":{"default":"./dist/index.js"}}}',
    "packages/agent/src/index.ts": 'export { bare, shown, wrong } from "./all.js";\n',
    "packages/agent/src/all.ts": `${shown("shown(anything);", "shown")}${shown("wrong(1);", "wrong")}
/** Does it. */
export function bare() {}

export function inner() {}
`,
    "packages/agent/dist/index.js": "",
    "packages/agent/dist/index.d.ts":
      "export declare function shown(value: string): void;\nexport declare function wrong(): void;\n",
  });
  const { code, stderr } = runScript("check-hover.mjs", root);
  expect([code, stderr.trim().split("\n")]).toEqual([
    1,
    [
      "packages/agent/src/all.ts: bare has no example in its comment",
      "packages/agent/src/all.ts: wrong: its example does not compile: Expected 0 arguments, but got 1.",
    ],
  ]);
});
