#!/usr/bin/env node
// What a stranger gets from the registry: every package is packed, its export map is judged by publint and attw, all
// tarballs are installed into an empty directory outside the workspace, every export is imported and every binary run,
// and a TypeScript consumer is compiled against the declarations. Needs pnpm on PATH (`npm test` provides it).
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { repositoryRoot, runGate } from "./gate.mjs";
import { mapConcurrently, run } from "./run.mjs";
import { readPackages } from "./workspace.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} each problem starts with the package's folder */
export async function checkPackages(root) {
  const packages = readPackages(root).filter((one) => one.manifest.private !== true);
  const { browser } = JSON.parse(readFileSync(join(root, "layers.json"), "utf8"));
  const scratch = mkdtempSync(join(tmpdir(), "chimera-packages-"));
  try {
    const packed = await mapConcurrently(packages, 2, (one) => pack(one, scratch));
    const problems = packed.flatMap((one) => one.problems ?? []);
    const tarballs = packed.filter((one) => one.tarball);
    for (const one of tarballs) problems.push(...(await judgeManifest(one)), ...(await judgeTypes(one)));
    if (problems.length === 0) problems.push(...(await installAndUse(tarballs, browser, scratch)));
    return { problems, summary: `${packages.length} packages pack, install, import and type-check` };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

// --- internal ---

async function pack(owner, scratch) {
  const { code, stdout, output } = await run("pnpm", ["pack", "--json", "--pack-destination", scratch], {
    cwd: owner.path,
    shell: process.platform === "win32",
  });
  if (code !== 0) return { problems: [`${owner.dir} does not pack: ${output.trim()}`] };
  const { filename } = JSON.parse(stdout.slice(stdout.indexOf("{")));
  return { owner, tarball: filename, bytes: readFileSync(filename) };
}

async function judgeManifest({ owner, bytes }) {
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages, pkg } = await publint({ strict: true, level: "warning", pack: { tarball } });
  return messages.map(
    (message) => `${owner.dir}/package.json publint: ${formatMessage(message, pkg, { color: false })}`,
  );
}

/** ESM only by design: how CommonJS and the oldest resolver would see the package is no concern. */
async function judgeTypes({ owner, bytes }) {
  if (Object.keys(owner.entries).length === 0) return [];
  const { problems = [] } = await checkPackage(createPackageFromTarballData(new Uint8Array(bytes)));
  return problems
    .filter(({ resolutionKind }) => resolutionKind !== "node10" && resolutionKind !== "node16-cjs")
    .map(
      (problem) =>
        `${owner.dir}/package.json types: ${problem.kind} at ${problem.entrypoint ?? JSON.stringify(problem)}`,
    );
}

async function installAndUse(tarballs, browser, scratch) {
  const home = join(scratch, "consumer");
  mkdirSync(home);
  const dependencies = Object.fromEntries(tarballs.map(({ owner, tarball }) => [owner.name, `file:${tarball}`]));
  writeFileSync(join(home, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  const flags = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const install = await run("npm", ["install", ...flags], { cwd: home, shell: process.platform === "win32" });
  if (install.code !== 0) return [`the tarballs do not install: ${install.output.trim()}`];
  const owners = tarballs.map(({ owner }) => owner);
  const results = [
    await importAll(owners, home),
    await runBinaries(owners, home),
    await compileConsumers(owners, browser, home),
  ];
  return results.flat();
}

async function importAll(owners, home) {
  const names = owners.flatMap((owner) => Object.keys(owner.entries));
  const program = `
    for (const name of ${JSON.stringify(names)}) {
      try { await import(name); } catch (error) { console.log(name + " does not import: " + error.message); }
    }
    process.exit();`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: home });
  return stdout.split("\n").filter(Boolean);
}

async function runBinaries(owners, home) {
  const binaries = owners.flatMap((owner) => Object.keys(owner.manifest.bin ?? {}).map((name) => ({ owner, name })));
  const problems = await mapConcurrently(binaries, 1, async ({ owner, name }) => {
    const path = join(home, "node_modules", ".bin", name);
    const { code, stdout, stderr } = await run(path, ["--version"], { cwd: home, shell: process.platform === "win32" });
    return code === 0 && stdout.includes(owner.manifest.version)
      ? []
      : [
          `${owner.dir} installed: \`${name} --version\` ended with ${code} and said ${JSON.stringify(stdout + stderr)}`,
        ];
  });
  return problems.flat();
}

/** One consumer per platform: Node with its types, a browser without them. */
async function compileConsumers(owners, browser, home) {
  const all = owners.flatMap((owner) => Object.keys(owner.entries));
  const typeRoots = [join(repositoryRoot, "node_modules", "@types")];
  const consumers = {
    node: { names: all, options: { lib: ["ES2023"], types: ["node"], typeRoots } },
    browser: {
      names: all.filter((name) => name in browser),
      options: { lib: ["ES2023", "DOM"], types: [] },
    },
  };
  const problems = [];
  for (const [platform, { names, options }] of Object.entries(consumers)) {
    if (names.length === 0) continue;
    const lines = names.map((name, index) => `export * as entry${index} from "${name}";`);
    writeFileSync(join(home, `${platform}.ts`), `${lines.join("\n")}\n`);
    const compilerOptions = { module: "NodeNext", target: "ES2022", strict: true, skipLibCheck: false, noEmit: true };
    const config = { compilerOptions: { ...compilerOptions, ...options }, files: [`${platform}.ts`] };
    writeFileSync(join(home, `tsconfig.${platform}.json`), JSON.stringify(config));
    const tsc = join(repositoryRoot, "node_modules", ".bin", "tsc");
    const shell = process.platform === "win32";
    const { code, output } = await run(tsc, ["-p", `tsconfig.${platform}.json`], { cwd: home, shell });
    if (code !== 0) problems.push(`a ${platform} consumer does not compile: ${output.trim()}`);
  }
  return problems;
}

await runGate(import.meta, checkPackages);
