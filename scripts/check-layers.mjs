#!/usr/bin/env node
// Holds the architecture: layers.json against every import, every manifest, every long function and the size of the whole, and zero import
// cycles.
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, posix } from "node:path";
import { findCycles } from "./find-cycles.mjs";
import { runGate } from "./gate.mjs";
import { countCode, readFunctions, readImports } from "./read-source.mjs";
import { listFiles, readPackages } from "./workspace.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} each problem starts with `file:line` */
export async function checkLayers(root) {
  const layers = JSON.parse(readFileSync(join(root, "layers.json"), "utf8"));
  const packages = readPackages(root);
  const world = { root, layers, packages: new Map(packages.map((one) => [one.name, one])) };
  const problems = [...checkTable(layers, packages)];
  const files = new Map();
  const long = createLongFunctions(layers.longFunctions ?? {});
  let code = 0;

  for (const owner of packages) {
    problems.push(...checkManifest(world, owner));
    for (const path of listFiles(root, owner.dir, [".ts", ".tsx", ".mts"])) {
      const inSource = path.startsWith(`${owner.dir}/src/`);
      const text = readFileSync(join(root, path), "utf8");
      const { imports, processUses } = readImports(path, text);
      const source = { path, owner, inSource };
      for (const { specifier, line } of imports) {
        const problem = checkImport(world, source, specifier);
        if (problem) problems.push(`${path}:${line} ${problem}`);
      }
      if (!inSource) continue;
      problems.push(...long.check(path, text), ...checkLength(path, text));
      code += countCode(text);
      files.set(path, imports.map(({ specifier }) => resolveRelative(root, path, specifier)).filter(Boolean));
      if (layers.process.includes(owner.dir)) continue;
      for (const { member, line } of processUses.filter(({ member }) => ambient.has(member))) {
        problems.push(
          `${path}:${line} uses process.${member}, which only ${layers.process.join(", ")} may: pass it in`,
        );
      }
    }
  }

  problems.push(...long.unused());
  if (!Number.isInteger(layers.mostCode))
    problems.push("layers.json:1 says nowhere how many lines of code there may be");
  else if (code > layers.mostCode)
    problems.push(`layers.json:1 allows ${layers.mostCode} lines of code, and there are ${code}: take something out`);
  for (const cycle of findCycles(files)) problems.push(`${cycle[0]}:1 import cycle: ${cycle.join(" -> ")}`);
  for (const cycle of findCycles(packageGraph(packages))) {
    problems.push(`${cycle[0]}/package.json:1 package cycle: ${cycle.join(" -> ")}`);
  }
  return {
    problems,
    summary: `${packages.length} packages and ${files.size} source files with ${code} lines of code keep to layers.json, no cycles`,
  };
}

// --- internal ---

/** Longer files are about more than one thing. */
const LONGEST_FILE = 350;

function checkLength(path, text) {
  const lines = text.split("\n").length - 1;
  return lines > LONGEST_FILE
    ? [`${path}:1 has ${lines} lines, more than ${LONGEST_FILE}: give its parts files of their own`]
    : [];
}

/** Longer ones do not fit on a screen, and nobody sees what they close over. */
const MOST_LINES = 80;

/** The table holds what was longer when the rule came. It gets no new row, and no number in it grows. */
function createLongFunctions(table) {
  const seen = new Set();
  return {
    check(path, text) {
      return readFunctions(path, text).flatMap(({ name, line, lines }) => {
        const row = `${path} ${name}`;
        if (lines <= MOST_LINES) return [];
        seen.add(row);
        if (lines <= (table[row] ?? MOST_LINES)) return [];
        const bound = table[row] ? `the ${table[row]} of layers.json "longFunctions"` : MOST_LINES;
        return [`${path}:${line} ${name} has ${lines} lines, more than ${bound}: give its parts names of their own`];
      });
    },
    unused: () =>
      Object.keys(table)
        .filter((row) => !seen.has(row))
        .map((row) => `layers.json:1 names ${row}, which is not longer than ${MOST_LINES} lines: remove it`),
  };
}

const ambient = new Set(["env", "argv", "exit"]);

function checkTable(layers, packages) {
  const known = new Set(packages.map((one) => one.dir));
  return [
    ...packages
      .filter((one) => layers.packages[one.dir] === undefined)
      .map((one) => `layers.json:1 ${one.dir} has no layer`),
    ...Object.keys(layers.packages)
      .filter((dir) => !known.has(dir))
      .map((dir) => `layers.json:1 names ${dir}, which is not a package`),
  ];
}

/** Development dependencies may point sideways (a test drives a neighbour) but never up. */
function checkManifest({ root, layers, packages }, owner) {
  const text = readFileSync(join(root, owner.dir, "package.json"), "utf8");
  const shipped = new Set(shippedDependencies(owner));
  return allDependencies(owner)
    .filter((name) => packages.has(name))
    .flatMap((name) => {
      const line = text.split("\n").findIndex((one) => one.includes(`"${name}"`) && !one.includes('"name"')) + 1;
      const problem = checkDirection(layers, owner, packages.get(name), shipped.has(name));
      return problem ? [`${owner.dir}/package.json:${line} ${problem}`] : [];
    });
}

/** A subpath of that name in the package's export map, or a pattern that covers it. */
function isExported({ name, manifest }, specifier) {
  return Object.keys(manifest.exports ?? {}).some((subpath) => {
    const [start, end] = (name + subpath.slice(1)).split("*");
    return end === undefined ? start === specifier : specifier.startsWith(start) && specifier.endsWith(end);
  });
}

function checkImport(world, source, specifier) {
  if (specifier.startsWith(".")) return checkRelative(world, source, specifier);
  if (isBuiltin(specifier) || Object.hasOwn(source.owner.manifest.imports ?? {}, specifier)) return undefined;
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  const { owner, inSource } = source;
  if (name === owner.name) {
    return inSource ? `imports its own package by name (${specifier}): use a relative path` : undefined;
  }
  const declared = inSource ? shippedDependencies(owner) : allDependencies(owner);
  if (!declared.includes(name)) {
    const where =
      inSource && allDependencies(owner).includes(name) ? "only a development dependency" : "not a dependency";
    return `imports ${specifier}, which is ${where} of ${owner.dir}`;
  }
  const target = world.packages.get(name);
  if (target === undefined) return undefined;
  if (!isExported(target, specifier)) return `imports ${specifier}, which ${target.dir} does not export`;
  return checkDirection(world.layers, owner, target, inSource);
}

function checkRelative({ root, layers }, { path, owner, inSource }, specifier) {
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith(`${owner.dir}/`)) return `imports ${specifier}, which leaves ${owner.dir}`;
  const base = `${owner.dir}/src`;
  const table = layers.folders[base];
  if (!inSource || table === undefined) return undefined;
  const [from, to] = [path, resolveRelative(root, path, specifier) ?? target].map((one) => topFolder(base, one));
  if (from === to || table[from] === undefined) return undefined;
  if (table[to] !== undefined && table[to] < table[from]) return undefined;
  return `imports ${specifier}: src/${from} stands below src/${to} or beside it (layers.json "folders")`;
}

function checkDirection(layers, owner, target, strict) {
  const [from, to] = [layers.packages[owner.dir], layers.packages[target.dir]];
  if (to < from || (to === from && !strict)) return undefined;
  const direction = to === from ? "sideways" : "upward";
  return `depends ${direction} on ${target.dir} (layer ${to}) from ${owner.dir} (layer ${from})`;
}

/**
 * What is bundled ships without being installed: all of an app's development dependencies, and what a package names in tsup. What it
 * runs in brings a module of its own name: `vscode` for an extension.
 */
function shippedDependencies(owner) {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies, engines } = owner.manifest;
  const bundled = owner.dir.startsWith("apps/")
    ? Object.keys(devDependencies ?? {})
    : (owner.manifest.tsup?.noExternal ?? []);
  return [...Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies, ...engines }), ...bundled];
}

function allDependencies(owner) {
  return [...new Set([...shippedDependencies(owner), ...Object.keys(owner.manifest.devDependencies ?? {})])];
}

function packageGraph(packages) {
  const dirs = new Map(packages.map((one) => [one.name, one.dir]));
  return new Map(packages.map((one) => [one.dir, allDependencies(one).flatMap((name) => dirs.get(name) ?? [])]));
}

function topFolder(base, path) {
  return path.slice(base.length + 1).split("/")[0];
}

function resolveRelative(root, from, specifier) {
  if (!specifier.startsWith(".")) return undefined;
  const target = posix.join(dirname(from), specifier);
  const candidates = [target.replace(/\.js$/, ".ts"), target.replace(/\.js$/, ".tsx"), target];
  return candidates.find((one) => existsSync(join(root, one)));
}

await runGate(import.meta, checkLayers);
