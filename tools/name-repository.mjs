#!/usr/bin/env node
// Moves the repository to another address: the root manifest's `repository` is where it is said, and every published
// manifest, every package's README and the Zed extension repeat it. Run by the release workflow too, because a provenance
// statement is only accepted when a package names the repository it was built in.
//   node tools/name-repository.mjs https://example.org/chimera [root]
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../scripts/gate.mjs";
import { readPackages, repositoryAddress } from "../scripts/workspace.mjs";

const [given = "", root = repositoryRoot] = process.argv.slice(2);
if (!/^https?:\/\/[^/\s]+\/[^\s"?#]*[^\s"?#/]$/.test(given)) {
  console.error("name-repository: say where the repository is: https://host/path");
  process.exit(2);
}
const address = given.replace(/\.git$/, "");
const former = repositoryAddress(root);
const packages = readPackages(root).flatMap(({ dir }) => [`${dir}/package.json`, `${dir}/README.md`]);
for (const path of ["package.json", "extension.toml", ...packages].map((name) => join(root, name))) {
  if (existsSync(path)) writeFileSync(path, readFileSync(path, "utf8").replaceAll(former, address));
}
