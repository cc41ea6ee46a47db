#!/usr/bin/env node
// Writes the repository's address into every published manifest: a provenance statement is only accepted when the package
// names the repository it was built in. Run by the release workflow, which knows the address.
//   node scripts/name-repository.mjs https://example.org/chimera
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./gate.mjs";
import { readPackages } from "./workspace.mjs";

const [address = ""] = process.argv.slice(2);
if (!URL.canParse(address)) {
  console.error("name-repository: say where the repository is: https://…");
  process.exit(2);
}
for (const { dir, manifest } of readPackages(repositoryRoot)) {
  if (manifest.private) continue;
  const path = join(repositoryRoot, dir, "package.json");
  const repository = { type: "git", url: `git+${address}.git`, directory: dir };
  writeFileSync(path, `${JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), repository }, null, 2)}\n`);
}
