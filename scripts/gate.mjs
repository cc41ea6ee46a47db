// A gate is a program that looks at the tree and names every place that breaks one rule. All gates share this shape.
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The repository this file belongs to. */
export const repositoryRoot = join(dirname(fileURLToPath(import.meta.url)), "..");

/**
 * Runs `check` when its module is the program: `node scripts/check-x.mjs [root]`. Problems go to stderr, one line each,
 * and the exit code is 1 when there are any.
 *
 * @param {ImportMeta} meta
 * @param {(root: string) => Promise<{ problems: string[], summary: string }>} check
 */
export async function runGate(meta, check) {
  if (!isProgram(meta)) return;
  const root = process.argv.slice(2).find((argument) => !argument.startsWith("-")) ?? repositoryRoot;
  const { problems, summary } = await check(root);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(summary);
}

/** Whether the module was started by `node`, not imported. */
export function isProgram(meta) {
  return process.argv[1] !== undefined && meta.url === pathToFileURL(process.argv[1]).href;
}
