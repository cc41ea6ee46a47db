#!/usr/bin/env node
// Examples in the documents are programs: every ```js fence whose first line is `// example` is run and must exit 0.
// `node scripts/check-examples.mjs [root]`
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runGate } from "./gate.mjs";
import { mapConcurrently, run } from "./run.mjs";
import { listFiles } from "./workspace.mjs";

const timeout = 60_000;

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkExamples(root) {
  const examples = listFiles(root, ".", [".md"]).flatMap((path) =>
    extractExamples(readFileSync(join(root, path), "utf8")).map((example) => ({ path, ...example })),
  );
  const problems = await mapConcurrently(examples, 2, async ({ path, line, code }) => {
    // A program on stdin resolves imports from the working directory: a package's own name, or the root's dependencies.
    const cwd = join(root, path.startsWith("docs/") ? "." : dirname(path));
    const ended = await run(process.execPath, ["--input-type=module", "-"], { cwd, input: code, timeout });
    return ended.code === 0
      ? []
      : [`${path}:${line} the example ended with ${ended.code ?? "a time-out"}\n${ended.output}`];
  });
  return { problems: problems.flat(), summary: `${examples.length} examples run` };
}

/** Every marked fence of a document, with the line it begins on. */
export function extractExamples(markdown) {
  return [...markdown.matchAll(/^```js\n(\/\/ example\b[\s\S]*?)^```$/gm)].map((match) => ({
    line: markdown.slice(0, match.index).split("\n").length + 1,
    code: match[1],
  }));
}

await runGate(import.meta, checkExamples);
