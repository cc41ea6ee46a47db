// What is in the workspace: its packages, read from their manifests.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {{ dir: string, path: string, name: string, manifest: Record<string, any>, entries: Record<string, string> }} Package
 * `dir` is relative to the root, `entries` maps an import name to the subpath's target.
 */

/**
 * Every package below the given folders, in a stable order.
 *
 * @returns {Package[]}
 */
export function readPackages(root, folders = ["packages", "apps"]) {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && existsSync(join(root, folder, entry.name, "package.json")))
        .map((entry) => readPackage(root, `${folder}/${entry.name}`)),
    )
    .toSorted((a, b) => a.dir.localeCompare(b.dir));
}

/** The programs that catalogues of agents list: those with an icon. `id` is what a person types, `title` what a menu shows. */
export function readListed(root) {
  return readPackages(root, ["apps"])
    .filter(({ path }) => existsSync(join(path, "icon.svg")))
    .map((program) => {
      const id = program.dir.split("/")[1];
      return { ...program, id, title: id[0].toUpperCase() + id.slice(1) };
    });
}

/** Where the repository is published, as the root manifest says; undefined for a tree that does not say. */
export function repositoryAddress(root) {
  if (!existsSync(join(root, "package.json"))) return undefined;
  const { repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return repository?.url.replace(/^git\+/, "").replace(/\.git$/, "");
}

/**
 * Files below a folder whose names end with one of the endings; generated and installed folders are left out.
 *
 * @returns {string[]}
 */
export function listFiles(root, folder, endings) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return skipped.has(entry.name) ? [] : listFiles(root, path, endings);
      return endings.some((ending) => entry.name.endsWith(ending)) ? [path] : [];
    })
    .toSorted();
}

// --- internal ---

const skipped = new Set(["node_modules", "dist", ".turbo", ".git", "fixtures"]);

function readPackage(root, dir) {
  const manifest = JSON.parse(readFileSync(join(root, dir, "package.json"), "utf8"));
  const entries = {};
  for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
    if (typeof target === "object") entries[manifest.name + subpath.slice(1)] = target.default;
  }
  return { dir, path: join(root, dir), name: manifest.name, manifest, entries };
}
