import { expect, test } from "vitest";
import { runScript, scratchTree } from "./scratch.js";

test("what embedders call has an example that compiles, and calls only what is exported; others are named", () => {
  const shown = (code: string, name: string) =>
    `/**\n * Does it.\n *\n * @example\n * ${code}\n */\nexport function ${name}() {}\n`;
  const root = scratchTree({
    "packages/agent/package.json": '{"name":"@x/agent","exports":{".":{"default":"./dist/index.js"}}}',
    "packages/agent/src/index.ts": 'export { bare, old, type Session, shown, wrong } from "./all.js";\n',
    "packages/agent/src/all.ts": `${shown("shown(join(anything));", "shown")}${shown("wrong(1);", "wrong")}
${shown("renamed(anything);", "old")}
/** Does it. */
export interface Session {
  /**
   * Goes.
   *
   * @example
   * session.gone();
   */
  go(): void;
}

/** Does it. */
export function bare() {}

export function inner() {}
`,
    "packages/agent/dist/index.js": "",
    "packages/agent/dist/index.d.ts":
      "export declare function shown(value: string): void;\nexport declare function wrong(): void;\nexport declare function old(): void;\nexport interface Session { go(): void }\n",
  });
  const { code, stderr } = runScript("check-hover.mjs", root);
  expect([code, stderr.trim().split("\n")]).toEqual([
    1,
    [
      "packages/agent/src/all.ts: bare has no example in its comment",
      "packages/agent/src/all.ts: wrong: its example does not compile: Expected 0 arguments, but got 1.",
      "packages/agent/src/all.ts: old: its example does not compile: Cannot find name 'renamed'.",
      "packages/agent/src/all.ts: go: its example does not compile: Property 'gone' does not exist on type 'Session'.",
    ],
  ]);
});
