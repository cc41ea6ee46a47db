import { expect, test } from "vitest";
import { EMBEDDED } from "../scripts/check-hover.mjs";
import { runScript, scratchTree } from "./scratch.js";

test("functions that embedders import have an example; one without is named", () => {
  const empty = Object.fromEntries(EMBEDDED.map((name) => [`packages/${name}/src/index.ts`, ""]));
  const root = scratchTree({
    ...empty,
    "packages/agent/src/index.ts": 'export { bare, shown } from "./both.js";\n',
    "packages/agent/src/both.ts":
      "/**\n * Does it.\n *\n * @example\n * shown();\n */\nexport function shown() {}\n\n/** Does it. */\nexport function bare() {}\n\nexport function inner() {}\n",
  });
  const { code, stderr } = runScript("check-hover.mjs", root);
  expect([code, stderr.trim()]).toEqual([1, "packages/agent/src/both.ts: bare has no example in its comment"]);
});
