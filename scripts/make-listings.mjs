#!/usr/bin/env node
// What catalogues ask for: an agent.json and an icon.svg each for the public ACP agent registry, and a Zed extension. Made
// from the programs' manifests; the repository's address is yours to say.
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

/** Heads of 16 by 16, in the one colour that the registry's themes give; a ferret wears a mask. */
const HEAD =
  "M3.2 6.6A1.7 1.7 0 1 1 5.4 4a6.2 6.2 0 0 1 5.2 0 1.7 1.7 0 1 1 2.2 2.6c.5.9.7 1.9.7 2.9 0 2.7-2.4 4.5-5.5 4.5S2.5 12.2 2.5 9.5c0-1 .2-2 .7-2.9Z";
const FACES = {
  otter: "M5.2 7.4h1.2v1.2H5.2zM9.6 7.4h1.2v1.2H9.6zM6.9 9.7h2.2L8 11z",
  ferret: "M3.9 6.9h3.3l.8.7.8-.7h3.3l-.9 2.2H9.4L8 8.4l-1.4.7H4.8zM6.9 10h2.2L8 11.3z",
};

function icon(id) {
  const outline = `<path fill="none" stroke="currentColor" stroke-linejoin="round" d="${HEAD}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">${outline}<path fill="currentColor" d="${FACES[id]}"/></svg>\n`;
}

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

/** Zed unpacks the archive that a release carries and runs it with a Node of its own. */
function zedExtension() {
  const targets = ["darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64", "windows-x86_64"];
  const servers = programs.flatMap(({ id, title, version }) => [
    `[agent_servers.${id}]`,
    `name = ${JSON.stringify(title)}`,
    `icon = "icon/${id}.svg"`,
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
  for (const path of [join(program.id, "icon.svg"), join("zed", "icon", `${program.id}.svg`)])
    write(path, icon(program.id));
}
write(join("zed", "extension.toml"), zedExtension());
