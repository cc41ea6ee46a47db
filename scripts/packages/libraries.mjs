// The packages as a program's dependencies: installed into an empty directory outside the workspace, then imported, embedded,
// bundled for a browser and compiled against.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { parse } from "yaml";
import { extractExamples } from "../check-examples.mjs";
import { repositoryRoot } from "../gate.mjs";
import { mapConcurrently, run } from "../run.mjs";
import { tellVersions } from "./programs.mjs";

const shell = process.platform === "win32";
const timeout = 60_000;

/**
 * @param {string} root
 * @param {{ owner: import("../workspace.mjs").Package, tarball: string }[]} tarballs
 * @param {string} home an empty directory
 * @param {{ newest: boolean }} options `newest`: the newest versions that the ranges allow, in place of the lockfile's
 * @returns {Promise<string[]>} what is wrong
 */
export async function useLibraries(root, tarballs, home, { newest }) {
  mkdirSync(home, { recursive: true });
  const dependencies = Object.fromEntries(tarballs.map(({ owner, tarball }) => [owner.name, `file:${tarball}`]));
  const overrides = { ...ownCopies(dependencies), ...(newest ? {} : lockedVersions(root)) };
  writeFileSync(join(home, "package.json"), JSON.stringify({ private: true, type: "module", dependencies, overrides }));
  const flags = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { code, output } = await run("npm", ["install", ...flags], { cwd: home, shell });
  if (code !== 0) return [`the tarballs do not install: ${output.trim()}`];
  const owners = tarballs.map(({ owner }) => owner);
  const entries = {
    code: owners.flatMap((owner) => Object.keys(owner.entries)),
    data: owners.flatMap((owner) => dataEntries(owner, home)),
  };
  const browser = Object.keys(JSON.parse(readFileSync(join(root, "layers.json"), "utf8")).browser);
  const uses = [
    () => compile(root, entries, browser, home),
    () => importAll(entries, home),
    () => bundleForBrowser(browser, home),
    () => embed(root, home),
    () => tellVersions(owners, join(home, "node_modules", ".bin")),
  ];
  return (await mapConcurrently(uses, 2, (use) => use())).flat();
}

// --- internal ---

/** The packages depend on each other too: nobody has to ask a registry for what is being tried. */
function ownCopies(dependencies) {
  return Object.fromEntries(Object.keys(dependencies).map((name) => [name, `$${name}`]));
}

/** What others publish tomorrow does not change the verdict about a commit. */
function lockedVersions(root) {
  if (!existsSync(join(root, "pnpm-lock.yaml"))) return {};
  const versions = {};
  for (const id of Object.keys(parse(readFileSync(join(root, "pnpm-lock.yaml"), "utf8")).packages)) {
    const at = id.lastIndexOf("@");
    const name = id.slice(0, at);
    versions[name] = name in versions ? undefined : id.slice(at + 1);
  }
  return versions;
}

/** Exports that are files of data, by the names they are imported by; `./schema/*.json` stands for each of its files. */
function dataEntries({ name, manifest }, home) {
  return Object.entries(manifest.exports ?? {})
    .filter(([, target]) => typeof target === "string" && target.endsWith(".json"))
    .flatMap(([subpath, target]) => {
      if (!target.includes("*")) return [name + subpath.slice(1)];
      const [folder, ending] = target.split("*");
      return readdirSync(join(home, "node_modules", name, folder))
        .filter((file) => file.endsWith(ending))
        .map((file) => name + subpath.slice(1).replace("*", file.slice(0, -ending.length)));
    });
}

async function importAll({ code, data }, home) {
  const program = `
    const say = (name) => (error) => console.log(name + " does not import: " + error.message);
    for (const name of ${JSON.stringify(code)}) await import(name).catch(say(name));
    for (const name of ${JSON.stringify(data)}) await import(name, { with: { type: "json" } }).catch(say(name));
    process.exit();`;
  const args = ["--input-type=module", "--no-warnings", "-"];
  const { stdout, stderr } = await run(process.execPath, args, { cwd: home, input: program, timeout });
  return (stdout + stderr).split("\n").filter(Boolean);
}

/** The README's program, as a user would paste it. */
async function embed(root, home) {
  if (!existsSync(join(root, "README.md"))) return [];
  const examples = extractExamples(readFileSync(join(root, "README.md"), "utf8"));
  const problems = await mapConcurrently(examples, 2, async ({ line, code: input }) => {
    const args = ["--input-type=module", "-"];
    const { code, output } = await run(process.execPath, args, { cwd: home, input, timeout });
    return code === 0 ? [] : [`README.md:${line} the example fails where the packages are installed: ${output.trim()}`];
  });
  return problems.flat();
}

/** A page has neither Node's modules nor its globals. */
async function bundleForBrowser(names, home) {
  const contents = names.map((name, index) => `export * as entry${index} from "${name}";`).join("\n");
  try {
    const stdin = { contents, resolveDir: home };
    const { outputFiles } = await build({
      stdin,
      bundle: true,
      format: "iife",
      platform: "browser",
      write: false,
      logLevel: "silent",
    });
    runInContext(outputFiles[0].text, createContext({ TextEncoder, TextDecoder, URL }), { timeout: 5000 });
    return [];
  } catch (failure) {
    return (failure.errors ?? [{ text: failure.message }]).map(({ text }) => `a browser bundle fails: ${text}`);
  }
}

/** Strict projects of users: every resolution under Node, and a page without Node's types. */
async function compile(root, { code, data }, browser, home) {
  const program = join(root, "scripts", "packages", "consumer.ts");
  const programs = existsSync(program) ? ["consumer.ts"] : [];
  for (const name of programs) copyFileSync(program, join(home, name));
  const imports = (names) => names.map((name, index) => `export * as entry${index} from "${name}";`);
  const json = data.map((name, index) => `export { default as data${index} } from "${name}" with { type: "json" };`);
  const problems = [];
  for (const [name, options] of Object.entries(PROJECTS)) {
    const onPage = options.types.length === 0;
    const lines = onPage ? imports(browser) : [...imports(code), ...json];
    writeFileSync(join(home, `${name}.ts`), `${lines.join("\n")}\n`);
    const compilerOptions = { ...STRICT, ...options, outDir: name };
    const config = { compilerOptions, files: [`${name}.ts`, ...(onPage ? [] : programs)] };
    writeFileSync(join(home, `tsconfig.${name}.json`), JSON.stringify(config));
    const tsc = join(repositoryRoot, "node_modules", ".bin", "tsc");
    const result = await run(tsc, ["-p", `tsconfig.${name}.json`], { cwd: home, shell });
    if (result.code !== 0) problems.push(`a ${name} consumer does not compile: ${result.output.trim()}`);
  }
  const made = programs.map((name) => join("node16", name.replace(/\.ts$/, ".js")));
  return problems.length > 0 ? problems : runCompiled(made, home);
}

const NODE = { lib: ["ES2023"], types: ["node"], typeRoots: [join(repositoryRoot, "node_modules", "@types")] };
const PAGE = { lib: ["ES2023", "DOM"], types: [] };
const BUNDLER = { module: "ESNext", moduleResolution: "bundler" };
const PROJECTS = {
  // Import attributes need "node18", which resolves as "node16" does.
  node16: { ...NODE, module: "node18", moduleResolution: "node16" },
  // Declarations resolve here as they did above: they are not judged again.
  nodenext: { ...NODE, module: "nodenext", moduleResolution: "nodenext", skipLibCheck: true },
  bundler: { ...NODE, ...BUNDLER },
  browser: { ...PAGE, ...BUNDLER },
};

const STRICT = {
  target: "ES2022",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  resolveJsonModule: true,
  skipLibCheck: false,
};

async function runCompiled(paths, home) {
  const problems = await mapConcurrently(paths, 2, async (path) => {
    const { code, output } = await run(process.execPath, [path], { cwd: home, timeout });
    return code === 0 ? [] : [`${path} compiles and then fails: ${output.trim()}`];
  });
  return problems.flat();
}
