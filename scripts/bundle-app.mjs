#!/usr/bin/env node
// Bundles a program from the packages' sources: `node scripts/bundle-app.mjs [apps/<name>]`. Every file of `dist` is CommonJS, because
// Node starts an ES module about ten milliseconds later, and complete: a file less to open is worth more than a minifier.
//
// `dist/cli.js` begins at `src/main.ts`. A static import goes into the file that needs it. A module imported on demand goes
//
// 1. into the file that the program's `bundle.json` names for its package, entry or folder, the narrowest one that holds it;
// 2. else, when it is imported by the name of a package, into a file of that name;
// 3. else into the file that imports it.
//
// The modules of one file run when the first of them is asked for, and so cost the least where all are needed; those of a file that
// `bundle.json` lists under `apart` run one by one.
//
// Code that two files need is in both; errors and symbols are compared by brand, so that costs bytes and nothing more.
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { isProgram } from "./gate.mjs";
import { readPackages } from "./workspace.mjs";
import { installedPackage, writeNotices } from "./write-notices.mjs";

const LOADER = fileURLToPath(new URL("bundle-loader.cjs", import.meta.url));

/**
 * Bundles a program, and returns what esbuild says of each file it wrote.
 *
 * @param {string} app its directory, `apps/<name>` of a workspace
 * @param {string} [out] where the files go
 * @returns {Promise<Record<string, import("esbuild").Metafile>>} by the file's name
 */
export async function bundleApp(app, out = join(app, "dist")) {
  const workspace = readWorkspace(resolve(app));
  const groups = readGroups(workspace);
  const metafiles = {};
  /** The modules that each file offers to the others: paths by key. */
  const offers = { cli: new Map() };
  rmSync(out, { recursive: true, force: true });
  // A file that turns out to be asked for more is built again.
  const queue = new Set(["cli"]);
  for (const file of queue) {
    queue.delete(file);
    const demands = new Map();
    const { metafile } = await build({
      ...entryOf(file, offers[file], groups.areApart(file), workspace.app),
      ...optionsOf(workspace.own.manifest),
      absWorkingDir: workspace.root,
      alias: Object.fromEntries(workspace.entries),
      outfile: resolve(out, `${file}.js`),
      plugins: [linkFiles(workspace, groups, file, demands)],
    });
    metafiles[file] = metafile;
    refuseMixed(file, readFileSync(resolve(out, `${file}.js`), "utf8"));
    for (const { group, key, path } of metDemands(metafile, demands)) {
      if (group === "cli") throw new Error(`${key} needs a row in bundle.json: cli.js is where the program starts`);
      offers[group] ??= new Map();
      if (offers[group].has(key)) continue;
      offers[group].set(key, path);
      queue.add(group);
    }
  }
  groups.refuseUnused();
  writeNotices(out, Object.values(metafiles), workspace.root);
  chmodSync(join(out, "cli.js"), 0o755);
  writeFileSync(join(out, "package.json"), '{ "type": "commonjs" }\n');
  return metafiles;
}

// --- internal ---

/** The packages, and the source of each of their entries: `@chimera/agent/tools` -> `packages/agent/src/tools/index.ts`. */
function readWorkspace(app) {
  const root = resolve(app, "..", "..");
  const packages = readPackages(root);
  const sources = packages.flatMap(({ path, name, entries, manifest }) => [
    ...Object.entries(entries).map(([entry, target]) => {
      const source = target.replace("./dist/", "src/").replace(/\.js$/, ".ts");
      return [entry, join(path, source)];
    }),
    // Data, as `@chimera/acp-schema/openapi.json`.
    ...Object.entries(manifest.exports ?? {})
      .filter(([, target]) => typeof target === "string")
      .map(([subpath, target]) => [name + subpath.slice(1), join(path, target)]),
  ]);
  return { root, app, packages, own: packages.find(({ path }) => path === app), entries: new Map(sources) };
}

/** `bundle.json`: names of files, and which packages (`@chimera/agent`), entries (`@chimera/host/pidfile`) and folders go there. */
function readGroups(workspace) {
  const { app, own } = workspace;
  const file = join(app, "bundle.json");
  const { together = {}, apart = {} } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const rows = Object.entries({ ...together, ...apart }).flatMap(([group, names]) =>
    names.map((name) => ({ group, name, place: placeOf(workspace, name), used: false })),
  );
  return {
    /** Undefined when the module stays with the one that imports it. */
    of(specifier, path) {
      const name = installedPackage(path)?.name;
      const holds = ({ place }) => (name ? place === name : place === path || path.startsWith(place + sep));
      const [row] = rows.filter(holds).toSorted((a, b) => b.place.length - a.place.length);
      if (row) {
        row.used = true;
        return row.group;
      }
      if (specifier.startsWith(".")) return undefined;
      const [first, second] = specifier.split("/");
      if (!first.startsWith("@")) return first;
      return first === own.name.split("/")[0] ? second : `${first.slice(1)}-${second}`;
    },
    areApart: (group) => Object.hasOwn(apart, group),
    /** A row that nothing falls under is a row that somebody forgot. */
    refuseUnused() {
      const unused = rows.filter(({ used }) => !used).map(({ name }) => name);
      if (unused.length === 0) return;
      throw new Error(`${own.dir}/bundle.json: nothing is imported on demand from ${unused.join(", ")}`);
    },
  };
}

/** A directory, a file, or the name of an installed package. */
function placeOf({ app, packages, entries }, name) {
  const owner = packages.find((one) => name === one.name || name.startsWith(`${one.name}/`));
  const folder = owner ? join(owner.path, name.slice(owner.name.length)) : join(app, name);
  return existsSync(folder) ? folder : (entries.get(name) ?? name);
}

/** A file is its modules, by key; they are found in any order, and a build is to be the same each time. */
function entryOf(file, modules, isApart, app) {
  if (file === "cli") return { entryPoints: [join(app, "src", "main.ts")] };
  const rows = [...modules].toSorted().map((pair) => pair.map((text) => JSON.stringify(text)));
  const contents = isApart
    ? `module.exports = { ${rows.map(([key, path]) => `get ${key}() { return require(${path}); }`).join(", ")} };`
    : rows.map(([key, path]) => `export * as ${key} from ${path};`).join("\n");
  return { stdin: { contents, resolveDir: app } };
}

function optionsOf({ dependencies, optionalDependencies }) {
  return {
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    minify: true,
    metafile: true,
    logLevel: "warning",
    // Said once for all; left to itself, esbuild says it in every module.
    banner: { js: '"use strict";' },
    tsconfigRaw: {},
    // What is installed beside the program is not part of it.
    external: Object.keys({ ...dependencies, ...optionalDependencies }),
  };
}

/** Leaves to other files what is theirs. */
function linkFiles({ root }, groups, file, demands) {
  const resolved = Symbol("resolved");
  return {
    name: "link-files",
    setup(bundle) {
      bundle.onResolve(
        { filter: /.*/, namespace: "file" },
        async ({ path, kind, importer, resolveDir, pluginData }) => {
          if (kind !== "dynamic-import" || pluginData === resolved) return;
          if (isBuiltin(path)) return { path, namespace: "builtin" };
          const found = await bundle.resolve(path, { kind, importer, resolveDir, pluginData: resolved });
          if (found.external || found.errors.length > 0) return found;
          const group = groups.of(path, found.path);
          // Left to esbuild: a module that is resolved here has no type, and reached in both ways it has one or not by chance.
          if (group === undefined || group === file) return;
          const demand = { group, key: keyOf(root, found.path), path: found.path };
          const name = `${demand.key} in ${group}`;
          demands.set(name, demand);
          return { path: name, namespace: installedPackage(found.path) ? "default-export" : "other-file" };
        },
      );
      // Of its own manifest a program only reads the version.
      bundle.onLoad({ filter: /[\\/]package\.json$/ }, ({ path }) => {
        const { version } = JSON.parse(readFileSync(path, "utf8"));
        return { contents: JSON.stringify({ version }), loader: "json" };
      });
      // Each becomes a require() that runs when the import is reached: it does not wake the loader of ES modules.
      bundle.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
        contents: `module.exports = require(${JSON.stringify(path)});`,
      }));
      bundle.onLoad({ filter: /.*/, namespace: "other-file" }, ({ path }) => {
        const { group, key } = demands.get(path);
        // Node runs the first file, and that one runs the others.
        const load = file === "cli" ? `require(${JSON.stringify(LOADER)})(require, __dirname)` : "require";
        return { contents: `module.exports = ${load}("./${group}.js")[${JSON.stringify(key)}];`, resolveDir: root };
      });
      bundle.onResolve({ filter: /.*/, namespace: "other-file" }, ({ path }) =>
        path === LOADER ? { path } : { path, external: true },
      );
      // Modules of the workspace have none. To import() a package's out of CommonJS takes an ES module in between.
      bundle.onLoad({ filter: /.*/, namespace: "default-export" }, ({ path }) => ({
        contents: `const all = require(${JSON.stringify(path)});
          export * from ${JSON.stringify(path)};
          export default "default" in all ? all.default : all;`,
      }));
      bundle.onResolve({ filter: /.*/, namespace: "default-export" }, ({ path }) => ({
        path,
        namespace: "other-file",
      }));
    },
  };
}

/** The loader leaves a file with an import() to Node, which would run files that such a file asks for a second time. */
function refuseMixed(file, text) {
  if (file === "cli" || !text.includes("import(") || !text.includes('require("./')) return;
  throw new Error(
    `${file}.js asks for other files and has an import() of something outside: import the module with it on demand, and give it a row of its own in bundle.json`,
  );
}

/** A module's name among those that a file offers. */
function keyOf(root, path) {
  const parts = relative(root, path).split(sep);
  return parts.slice(parts.lastIndexOf("node_modules") + 1).join("/");
}

/** What the built file asks others for. A module that was found, but is not in the file, asks for nothing. */
function metDemands({ outputs }, demands) {
  const inputs = new Set(Object.values(outputs).flatMap((output) => Object.keys(output.inputs)));
  return [...demands].filter(([name]) => inputs.has(`other-file:${name}`)).map(([, demand]) => demand);
}

if (isProgram(import.meta)) await bundleApp(process.argv[2] ?? process.cwd());
