#!/usr/bin/env node
// Examples check themselves, and the exit code is the verdict. This gate runs every examples/*/main.mjs, every ```js fence of a
// document whose first line is `// example`, and the ```sh fences of each page of the guide and of those that its table leads to: all
// fences of a page are one script. A fence that needs more than a shell and curl names it: ```sh needs-postgres, a row of needs.mjs.
// `node scripts/check-examples.mjs [root]`
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, posix } from "node:path";
import { runGate } from "./gate.mjs";
import { needs } from "./needs.mjs";
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
  const pages = await mapConcurrently(guidePages(root), 2, (path) => runPage(root, path));
  return {
    problems: [...problems.flat(), ...pages.flatMap((page) => page.problems)],
    summary: [
      ...pages.flatMap(({ notRun }) => notRun),
      `${examples.length} examples and ${pages.length} pages of the guide run`,
    ].join("\n"),
  };
}

/** Every marked fence of a document, with the line it begins on. */
export function extractExamples(markdown) {
  return [...markdown.matchAll(/^```js\n(\/\/ example\b[\s\S]*?)^```$/gm)].map((match) => ({
    line: markdown.slice(0, match.index).split("\n").length + 1,
    code: match[1],
  }));
}

/** The pages of the guide, and those elsewhere that the table on its first page leads to. */
function guidePages(root) {
  const own = listFiles(root, "docs/guide", [".md"]);
  const first = own.find((path) => path.endsWith("/README.md"));
  const rows = first === undefined ? "" : readFileSync(join(root, first), "utf8").replace(/^(?!\|).*$/gm, "");
  const led = [...rows.matchAll(/\]\(([^)#]+\.md)/g)].map(([, link]) => posix.join("docs/guide", link));
  return [...new Set([...own, ...led])];
}

/** What every fence of a page needs. */
const EVERY_FENCE = ["unix", "curl"];

/** Runs what a page tells its reader to type, in an empty home, with the built programs and no model key. */
async function runPage(root, path) {
  const page = { problems: [], notRun: [] };
  const fences = [];
  for (const { line, tags, code } of shellFences(readFileSync(join(root, path), "utf8"))) {
    const names = [...EVERY_FENCE, ...tags.map((tag) => tag.replace(/^needs-/, ""))];
    const unknown = names.find((name) => !needs.some((need) => need.name === name));
    if (unknown !== undefined) page.problems.push(`${path}:${line} "${unknown}" is not a row of scripts/needs.mjs`);
    const missing = await unmet(names);
    if (missing.length > 0) page.notRun.push(`not run: ${path}:${line} needs ${missing.join(", ")}`);
    else fences.push({ tags, code });
  }
  if (fences.length > 0) page.problems.push(...(await runScript(root, path, fences)));
  return page;
}

/** Every `sh` fence of a document, with the line it begins on and the needs it names. */
function shellFences(markdown) {
  return [...markdown.matchAll(/^```sh((?: +[\w-]+)*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    line: markdown.slice(0, match.index).split("\n").length,
    tags: match[1].split(" ").filter(Boolean),
    code: match[2],
  }));
}

async function unmet(names) {
  const missing = [];
  for (const { name, what, isMet } of needs) if (names.includes(name) && !(await isMet())) missing.push(what);
  return missing;
}

/** The programs that a page, or the guide's page about that, installs from a clone. */
function installed(root, path) {
  const pages = listFiles(root, "docs/guide", ["install.md"]);
  const text = [...pages, path].map((page) => readFileSync(join(root, page), "utf8")).join("\n");
  return [...text.matchAll(/(?<=^npm .*install -g .*)\.\/apps\/(\w+)/gm)].map(([, name]) => name);
}

/**
 * A page's port is one that is free here, and its database one that is made for it. The directory is not the home: a file of the
 * project and a file of the person are two.
 */
async function runScript(root, path, fences) {
  const scratch = mkdtempSync(join(tmpdir(), "guide-"));
  const [home, bin] = ["home", "bin"].map((name) => join(scratch, name));
  const cwd = join(home, "work");
  for (const directory of [home, bin, cwd]) mkdirSync(directory);
  const postgres = fences.some(({ tags }) => tags.includes("needs-postgres")) ? await startPostgres() : null;
  const port = String(await freePort());
  for (const name of new Set(installed(root, path)))
    symlinkSync(join(root, "apps", name, "dist", "cli.js"), join(bin, name));
  const typed = fences.map(({ code }) => code).join("");
  const script = typed.replaceAll("5173", port).replaceAll("postgres://chimera@db.internal/chimera", postgres?.url);
  const PATH = [bin, dirname(process.execPath), process.env.PATH].join(delimiter);
  try {
    const { code, output } = await run("sh", ["-eux", "-c", script], {
      cwd,
      env: { PATH, HOME: home, OTTER_PORT: port },
      timeout,
    });
    return code === 0 ? [] : [`${path}:1 its commands ended with ${code ?? "a time-out"}\n${output}`];
  } finally {
    await postgres?.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function startPostgres() {
  const server = await (await import("@chimera/store-postgres/testing")).startPostgres(process.env);
  const database = await server.database();
  return {
    url: database.url,
    async stop() {
      await database.drop();
      await server.stop();
    },
  };
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
