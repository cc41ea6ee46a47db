#!/usr/bin/env node
// Licences of others ask to be passed on with their code. What is bundled has them in dist/THIRD-PARTY-NOTICES, made from
// esbuild's own account of what went into each file, so that it cannot fall behind. As a program: for the package in the current
// directory, whose build has just left that account in dist.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve, sep } from "node:path";
import { isProgram } from "./gate.mjs";

/**
 * Writes the notices of everything that is in the described files.
 *
 * @param {string} out the directory of the bundled files
 * @param {readonly import("esbuild").Metafile[]} metafiles
 * @param {string} from the directory that their paths start from
 */
export function writeNotices(out, metafiles, from) {
  const packages = bundledPackages(metafiles, from).map(readLicence);
  if (packages.length === 0) return;
  const notices = packages.map(({ name, version, license, texts }) =>
    [RULE, `${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join("\n\n"),
  );
  const head =
    "What is distributed here has in it code or data of the packages below, under the licences that follow their names.";
  writeFileSync(join(out, "THIRD-PARTY-NOTICES"), `${[head, ...notices].join("\n\n")}\n`);
}

/** `…/node_modules/yaml/dist/index.js` is of the package yaml, whose home is `…/node_modules/yaml`; undefined for what is not installed. */
export function installedPackage(path) {
  const parts = path.split(sep);
  const at = parts.lastIndexOf("node_modules") + 1;
  if (at === 0) return undefined;
  const end = at + (parts[at].startsWith("@") ? 2 : 1);
  return { name: parts.slice(at, end).join("/"), home: parts.slice(0, end).join(sep) };
}

/** The packages that the files have something of, by name. */
export function bundledPackages(metafiles, from) {
  const inputs = metafiles
    .flatMap(({ outputs }) => Object.values(outputs))
    .flatMap((output) => Object.entries(output.inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => resolve(from, path));
  const found = inputs.flatMap((path) => installedPackage(path) ?? sourcesOfGenerated(path));
  const homes = new Map(found.map((one) => [one.home, one]));
  return [...homes.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}

// --- internal ---

const RULE = "-".repeat(80);

/** Licences that give a work to the public and want no text passed on with it. */
const ASK_FOR_NOTHING = new Set(["Unlicense"]);

/** A file that a script wrote from packages says so in its first lines: `Written by <script> from <package> <version>`. */
function sourcesOfGenerated(path) {
  if (!/\.gen\.[jt]s$/.test(path)) return [];
  const [head] = /^(\/[/*].*\n)*/.exec(readFileSync(path, "utf8"));
  const names = [...head.matchAll(/ from (\S+) \d/g)].map(([, name]) => name);
  return names.map((name) => installedPackage(createRequire(path).resolve(name)));
}

function readLicence({ home }) {
  const { name, version, license } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  const listed = readdirSync(home);
  const read = (pattern) =>
    listed.filter((file) => pattern.test(file)).map((file) => readFileSync(join(home, file), "utf8"));
  const files = read(/^(licen[cs]e|copying|notice)\b/i);
  // Some packages have their licence at the end of their README only.
  const texts =
    files.length > 0
      ? files
      : read(/^readme\b/i).flatMap((text) => /^#+ licen[cs]e\s*$[\s\S]*copyright[\s\S]*/im.exec(text) ?? []);
  if (texts.length === 0 && !ASK_FOR_NOTHING.has(license))
    throw new Error(`${name} ${version} has no text of its licence, so it may not be bundled`);
  return { name, version, license, texts };
}

if (isProgram(import.meta)) {
  const account = join("dist", "metafile-esm.json");
  writeNotices("dist", [JSON.parse(readFileSync(account, "utf8"))], process.cwd());
  rmSync(account);
}
