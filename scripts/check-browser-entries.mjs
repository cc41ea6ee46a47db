#!/usr/bin/env node
// Entries that promise to run in a browser (layers.json "browser": KiB, minified and compressed) reach no Node builtin and
// keep to their budget. The sources are bundled, so that a problem names the line that somebody wrote.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { runGate } from "./gate.mjs";
import { readPackages } from "./workspace.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkBrowserEntries(root) {
  const { browser } = JSON.parse(readFileSync(join(root, "layers.json"), "utf8"));
  const packages = readPackages(root);
  const problems = [];
  const sizes = [];
  for (const [name, budget] of Object.entries(browser)) {
    const owner = packages.find((one) => name in one.entries);
    if (owner === undefined) {
      problems.push(`layers.json names ${name}, which no package exports`);
      continue;
    }
    const { errors, bytes } = await bundle(root, owner, sourceOf(owner, name));
    problems.push(...errors.map((error) => `${error} (reached from ${name}, which promises to run in a browser)`));
    const size = bytes / 1024;
    sizes.push(`${name} ${size.toFixed(1)} of ${budget} KiB`);
    if (size > budget) problems.push(`${owner.dir} ${name} is ${size.toFixed(1)} KiB, over its budget of ${budget}`);
  }
  return { problems, summary: sizes.join(", ") };
}

// --- internal ---

/** What is built mirrors what it is built from. */
function sourceOf(owner, name) {
  return join(owner.path, owner.entries[name].replace("./dist/", "src/").replace(/\.js$/, ".ts"));
}

async function bundle(root, owner, entry) {
  try {
    const { outputFiles } = await build({
      entryPoints: [entry],
      absWorkingDir: root,
      bundle: true,
      minify: true,
      format: "esm",
      platform: "browser",
      write: false,
      logLevel: "silent",
    });
    return { errors: [], bytes: gzipSync(outputFiles[0].contents).byteLength };
  } catch (failure) {
    const errors = failure.errors.map(
      ({ location, text }) => `${location?.file ?? owner.dir}:${location?.line ?? 1} ${text}`,
    );
    return { errors, bytes: 0 };
  }
}

await runGate(import.meta, checkBrowserEntries);
