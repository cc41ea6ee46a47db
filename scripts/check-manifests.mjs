#!/usr/bin/env node
// What a registry shows of a package and what its users are held to: where it comes from, what it is found by, and for a
// library ranges of versions, so that a program that uses several installs one copy of each dependency.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { runGate } from "./gate.mjs";
import { readPackages, repositoryAddress } from "./workspace.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkManifests(root) {
  const address = repositoryAddress(root);
  if (address === undefined) return { problems: ["package.json names no repository"], summary: "" };
  const { catalog = {} } = parse(readFileSync(join(root, "pnpm-workspace.yaml"), "utf8"));
  const packages = readPackages(root).filter(({ manifest }) => manifest.private !== true);
  const problems = packages.flatMap((owner) =>
    [
      ...checkOrigin(owner, address),
      ...checkDescription(owner),
      ...(owner.dir.startsWith("packages/") ? checkRanges(owner.manifest, catalog) : []),
    ].map((problem) => `${owner.dir}/package.json ${problem}`),
  );
  return { problems, summary: `${packages.length} manifests name ${address}` };
}

// --- internal ---

function checkOrigin({ dir, manifest }, address) {
  const expected = {
    homepage: `${address}/tree/main/${dir}#readme`,
    repository: { type: "git", url: `git+${address}.git`, directory: dir },
    bugs: { url: `${address}/issues` },
  };
  return Object.entries(expected)
    .filter(([field, value]) => !isDeepStrictEqual(manifest[field], value))
    .map(([field, value]) => `${field} is not ${JSON.stringify(value)}`);
}

function checkDescription({ path, manifest }) {
  const { description = "", license, keywords = [], engines, publishConfig } = manifest;
  return [
    description.length < 20 && "description says too little",
    license === undefined && "names no license",
    new Set(keywords).size < 3 && "needs three keywords or more to be found by",
    new Set(keywords).size < keywords.length && "repeats a keyword",
    engines?.node === undefined && "does not say which Node it needs (engines.node)",
    publishConfig?.access !== "public" && 'publishConfig.access is not "public": a scoped package would be private',
    !existsSync(join(path, "README.md")) && "has no README.md beside it",
  ].filter(Boolean);
}

/** `catalog:` is read where it is defined; a package of the workspace becomes a range when it is packed. */
function checkRanges({ dependencies, optionalDependencies, peerDependencies }, catalog) {
  return Object.entries({ ...dependencies, ...optionalDependencies, ...peerDependencies })
    .map(([name, given]) => [name, given === "catalog:" ? String(catalog[name]) : given])
    .filter(([, version]) => !/^(workspace:)?\^/.test(version))
    .map(([name, version]) => `pins ${name} to ${version}: a library asks for a range (^)`);
}

await runGate(import.meta, checkManifests);
