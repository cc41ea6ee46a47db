#!/usr/bin/env node
// What the public ACP agent registry asks for: an agent.json and an icon.svg of each program, made from its manifest. Zed's own
// extension is made by scripts/zed/build_archives.sh.
//   node tools/make-listings.mjs [--out listings]
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { repositoryRoot as root } from "../scripts/gate.mjs";
import { readListed, repositoryAddress } from "../scripts/workspace.mjs";

const { values } = parseArgs({ options: { out: { type: "string", default: "listings" } } });
const repository = repositoryAddress(root);

/** The registry starts an agent from its npm package. */
function registryEntry({ id, title, name, manifest: { version, description, license } }) {
  return {
    id,
    name: title,
    version,
    description,
    repository,
    authors: ["The Chimera authors"],
    license,
    license_url: `${repository}/blob/main/LICENSE`,
    distribution: { npx: { package: `${name}@${version}`, args: ["acp"] } },
  };
}

for (const program of readListed(root)) {
  const folder = resolve(values.out, program.id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "agent.json"), `${JSON.stringify(registryEntry(program), null, 2)}\n`);
  copyFileSync(join(program.path, "icon.svg"), join(folder, "icon.svg"));
  console.log(folder);
}
