#!/usr/bin/env node
// Examples check themselves, and the exit code is the verdict. Run are every examples/*/main.mjs, every ```js fence of a document whose
// first line is `// example`, and the ```sh fences of each page of the guide, one after another as one script.
// `node scripts/check-examples.mjs [root]`
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
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
  const pages = await mapConcurrently(listFiles(root, "docs/guide", [".md"]), 2, (path) => runPage(root, path));
  return {
    problems: [...problems, ...pages].flat(),
    summary: `${examples.length} examples and ${pages.length} pages of the guide run`,
  };
}

/** Every marked fence of a document, with the line it begins on. */
export function extractExamples(markdown) {
  return [...markdown.matchAll(/^```js\n(\/\/ example\b[\s\S]*?)^```$/gm)].map((match) => ({
    line: markdown.slice(0, match.index).split("\n").length + 1,
    code: match[1],
  }));
}

/** Runs what a page of the guide tells its reader to type: in an empty home, with the built programs and no model key. */
async function runPage(root, path) {
  const fences = [...readFileSync(join(root, path), "utf8").matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
  if (fences.length === 0) return [];
  const home = mkdtempSync(join(tmpdir(), "guide-"));
  const port = String(await freePort());
  for (const name of ["otter", "ferret"]) symlinkSync(join(root, "apps", name, "dist", "cli.js"), join(home, name));
  const script = fences.map(([, code]) => code.replaceAll("5173", port)).join("");
  const PATH = [home, dirname(process.execPath), process.env.PATH].join(delimiter);
  try {
    const { code, output } = await run("sh", ["-eux"], {
      cwd: home,
      env: { PATH, HOME: home, OTTER_PORT: port },
      input: script,
      timeout,
    });
    return code === 0 ? [] : [`${path}:1 its commands ended with ${code ?? "a time-out"}\n${output}`];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

await runGate(import.meta, checkExamples);
