#!/usr/bin/env node
// A registry that lacks a platform's binary makes pnpm drop it without a word, and the lockfile works on one system only.
// Asks the registry what every locked package wants and names what the lockfile does not hold. Needs the network.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { runGate } from "./gate.mjs";
import { mapConcurrently, run } from "./run.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkLockPlatforms(root) {
  const { packages } = parse(readFileSync(join(root, "pnpm-lock.yaml"), "utf8"));
  const locked = Object.keys(packages).map((id) => {
    const at = id.lastIndexOf("@");
    return { name: id.slice(0, at), version: id.slice(at + 1) };
  });
  const names = new Set(locked.map(({ name }) => name));
  const registry = await registryAddress(root);
  const problems = await mapConcurrently(locked, 8, async ({ name, version }) => {
    const response = await fetch(new URL(`${name.replace("/", "%2f")}/${version}`, registry));
    if (!response.ok) return [`${name}@${version}: the registry answers ${response.status}`];
    const { optionalDependencies = {} } = await response.json();
    return Object.keys(optionalDependencies)
      .filter((wanted) => !names.has(wanted))
      .map((wanted) => `pnpm-lock.yaml: ${name}@${version} wants ${wanted}, which the lockfile does not hold`);
  });
  return { problems: problems.flat(), summary: `${locked.length} packages, every platform's binaries are locked` };
}

// --- internal ---

async function registryAddress(root) {
  const { stdout } = await run("npm", ["config", "get", "registry"], {
    cwd: root,
    shell: process.platform === "win32",
  });
  return stdout.trim().replace(/\/?$/, "/");
}

await runGate(import.meta, checkLockPlatforms);
