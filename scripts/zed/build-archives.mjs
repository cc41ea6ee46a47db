#!/usr/bin/env node
// What Zed's extension needs: an archive of each program for every platform, and extension.toml at the repository's root, which
// names their addresses and hashes. Run by build_archives.sh, after a build.
//   --out <dir>         where the archives go (dist/zed)
//   --extension <file>  what to write (extension.toml)
//   --check             write no extension, and fail when the one there is not what would be written
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { repositoryRoot as root } from "../gate.mjs";
import { readListed, repositoryAddress } from "../workspace.mjs";
import { tarGz, zip } from "./archive.mjs";

/** The programs are JavaScript: an archive differs by how it is unpacked and started, not by processor. */
const ARCHIVES = [
  {
    platforms: ["darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64"],
    ending: ".tar.gz",
    pack: tarGz,
    command: (id) => id,
    // A relative path in Zed's `args` is resolved in the project's directory, so `cmd = "node"` would not find the program.
    launcher: (id, node) => `#!/bin/sh
# Starts ${id} with the Node on the PATH.
if ! command -v node >/dev/null 2>&1; then
  echo "${id} needs Node ${node} on the PATH: https://nodejs.org" >&2
  exit 1
fi
exec node "$(dirname -- "$0")/dist/cli.js" "$@"
`,
  },
  {
    platforms: ["windows-aarch64", "windows-x86_64"],
    ending: "-windows.zip",
    pack: zip,
    command: (id) => `${id}.cmd`,
    launcher: (id, node) =>
      [
        "@echo off",
        `rem Starts ${id} with the Node on the PATH.`,
        "where node >nul 2>nul",
        `if errorlevel 1 echo ${id} needs Node ${node} on the PATH: https://nodejs.org 1>&2 & exit /b 1`,
        'node "%~dp0dist\\cli.js" %*',
        "",
      ].join("\r\n"),
  },
];

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(root, "dist", "zed") },
    extension: { type: "string", default: join(root, "extension.toml") },
    check: { type: "boolean", default: false },
  },
});

const listed = readListed(root);
clearOut(values.out);
const programs = listed.map(buildProgram);
const extension = describeExtension(programs);
if (!values.check) {
  writeFileSync(values.extension, extension);
  console.log(values.extension);
} else if (readFileSync(values.extension, "utf8") !== extension) {
  console.error(
    `${values.extension} does not describe these archives: run scripts/zed/build_archives.sh and commit it`,
  );
  process.exitCode = 1;
}

/** Archives of an earlier version would be released with these; anything else in the folder is somebody's. */
function clearOut(out) {
  mkdirSync(out, { recursive: true });
  const made = (name) => listed.some(({ id }) => name.startsWith(`${id}-`)) && /\.(tar\.gz|zip)$/.test(name);
  for (const name of readdirSync(out).filter(made)) rmSync(join(out, name));
}

/** Makes a program's archives, and tells what the extension has to know of them. */
function buildProgram({ id, title, dir, path, manifest }) {
  const { version, engines, files: published } = manifest;
  const isLeftOut = (file) => published.some((name) => name.startsWith("!") && file.startsWith(`${name.slice(1)}/`));
  const names = [...published.filter((name) => !name.startsWith("!")), "README.md"];
  const files = [
    ...names.flatMap((name) => readFiles(path, name)).filter((file) => !isLeftOut(file.path)),
    ...readFiles(root, "LICENSE"),
  ];
  const archives = ARCHIVES.map(({ platforms, ending, pack, command, launcher }) => {
    const text = launcher(id, `${engines.node.replace(">=", "")} or newer`);
    const bytes = pack([...files, { path: command(id), bytes: Buffer.from(text), executable: true }]);
    const name = `${id}-${version}${ending}`;
    writeFileSync(join(values.out, name), bytes);
    console.log(join(values.out, name));
    return { platforms, name, command: command(id), sha256: createHash("sha256").update(bytes).digest("hex") };
  });
  return { id, title, icon: `${dir}/icon.svg`, version, archives };
}

/** A file, or all of a folder, by paths relative to `folder`. */
function readFiles(folder, path) {
  const place = join(folder, path);
  if (statSync(place).isDirectory()) return readdirSync(place).flatMap((name) => readFiles(folder, `${path}/${name}`));
  return [{ path, bytes: readFileSync(place) }];
}

function describeExtension(programs) {
  const address = repositoryAddress(root);
  const [{ version }] = programs;
  const servers = programs.flatMap(({ id, title, icon, archives }) => [
    `[agent_servers.${id}]`,
    `name = "${title}"`,
    `icon = "${icon}"`,
    "",
    `[agent_servers.${id}.env]`,
    `${id.toUpperCase()}_LAUNCHED_BY = "zed"`,
    "",
    ...archives.flatMap(({ platforms, name, command, sha256 }) =>
      platforms.flatMap((platform) => [
        `[agent_servers.${id}.targets.${platform}]`,
        `archive = "${address}/releases/download/v${version}/${name}"`,
        `cmd = "./${command}"`,
        'args = ["acp"]',
        `sha256 = "${sha256}"`,
        "",
      ]),
    ),
  ]);
  return [
    "# Written by scripts/zed/build_archives.sh, with the hashes of the archives it made. A release checks that they still hold.",
    'id = "chimera"',
    'name = "Chimera"',
    `version = "${version}"`,
    "schema_version = 1",
    'authors = ["The Chimera authors"]',
    'description = "Coding agents with replay, undo and a sandbox"',
    `repository = "${address}"`,
    "",
    ...servers,
  ]
    .join("\n")
    .replace(/\n+$/, "\n");
}
