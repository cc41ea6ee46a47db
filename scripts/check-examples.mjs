#!/usr/bin/env node
// Examples check themselves, and the exit code is the verdict: every examples/*/main.mjs is run, and so is every ```js fence
// of a document whose first line is `// example`.
// `node scripts/check-examples.mjs [root]`
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runGate } from "./gate.mjs";
import { mapConcurrently, run } from "./run.mjs";
import { listFiles } from "./workspace.mjs";

const timeout = 60_000;

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkExamples(root) {
  const fences = listFiles(root, ".", [".md"]).flatMap((path) =>
    extractExamples(readFileSync(join(root, path), "utf8")).map(({ line, code }) => ({
      place: `${path}:${line}`,
      // A program on stdin resolves imports from the working directory: a package's own name, or the root's dependencies.
      cwd: join(root, path.startsWith("docs/") ? "." : dirname(path)),
      args: ["--input-type=module", "-"],
      input: code,
    })),
  );
  const programs = listFiles(root, "examples", ["main.mjs"]).map((path) => ({
    place: `${path}:1`,
    cwd: join(root, dirname(path)),
    args: ["main.mjs"],
  }));
  const examples = [...fences, ...programs];
  const problems = await mapConcurrently(examples, 2, async ({ place, cwd, args, input }) => {
    const { code, output } = await run(process.execPath, args, { cwd, input, timeout });
    return code === 0 ? [] : [`${place} the example ended with ${code ?? "a time-out"}\n${output}`];
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
