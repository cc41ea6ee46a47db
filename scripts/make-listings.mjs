#!/usr/bin/env node
// What catalogues ask for: an agent.json each for the public ACP agent registry, and a Zed extension.toml. Made from the
// programs' manifests; the repository's address is yours to say.
//   node scripts/make-listings.mjs --repository https://example.org/chimera [--out listings]
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { values } = parseArgs({
  options: { repository: { type: "string" }, out: { type: "string", default: "listings" } },
});
const { repository, out } = values;
if (!repository || !URL.canParse(repository)) {
  console.error("make-listings: name the repository: --repository https://…");
  process.exit(2);
}

const programs = ["otter", "ferret"].map((name) => ({
  ...JSON.parse(readFileSync(join(root, "apps", name, "package.json"), "utf8")),
  id: name,
  title: name[0].toUpperCase() + name.slice(1),
}));

/** The registry starts an agent from its npm package. */
function registryEntry({ id, title, name, version, description, license }) {
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

/** Zed unpacks an archive of the program's dist and runs it with the Node it finds. */
function zedExtension() {
  const targets = ["darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64", "windows-x86_64"];
  const servers = programs.flatMap(({ id, title, version }) => [
    `[agent_servers.${id}]`,
    `name = ${JSON.stringify(title)}`,
    "",
    ...targets.flatMap((target) => [
      `[agent_servers.${id}.targets.${target}]`,
      `archive = ${JSON.stringify(`${repository}/releases/download/v${version}/${id}-${version}.tar.gz`)}`,
      'cmd = "node"',
      `args = ["dist/cli.js", "acp"]`,
      "",
    ]),
  ]);
  return [
    'id = "chimera"',
    'name = "Chimera"',
    `version = ${JSON.stringify(programs[0].version)}`,
    "schema_version = 1",
    'authors = ["The Chimera authors"]',
    'description = "Coding agents with replay, undo and a sandbox"',
    `repository = ${JSON.stringify(repository)}`,
    "",
    ...servers,
  ].join("\n");
}

const write = (path, text) => {
  const file = resolve(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.log(file);
};
for (const program of programs) {
  write(join(program.id, "agent.json"), `${JSON.stringify(registryEntry(program), null, 2)}\n`);
}
write(join("zed", "extension.toml"), zedExtension());
