#!/usr/bin/env node
// `npm test`: every gate and every test. `npm test -- <vitest filters>` chooses tests; gates always run.
import { join } from "node:path";
import { isProgram, repositoryRoot as root } from "./gate.mjs";
import { runTests } from "./run-tests.mjs";

const script = (name, ...args) => [process.execPath, join(root, "scripts", name), ...args];
const tool = (name, ...args) => [process.execPath, join(root, "tools", name), ...args];
const bin = (name, ...args) => [join(root, "node_modules", ".bin", name), ...args];

/** The slowest first, so that the short ones fill the gaps. */
export const slowGates = {
  "packages: publint, attw, install from tarballs, consumers": script("check-packages.mjs"),
  "types: packages": ["pnpm", "exec", "turbo", "run", "typecheck", "--continue", "--output-logs=errors-only"],
  "examples: programs and documents": script("check-examples.mjs"),
  "unused files, exports and dependencies": bin("knip", "--no-config-hints"),
};

export const quickGates = {
  "types: repository tests": bin("tsc", "-p", "test"),
  "format and lint": bin("biome", "ci", "."),
  "scripts and files before the first answers": script("check-start.mjs"),
  "layers and cycles": script("check-layers.mjs"),
  "browser entries": script("check-browser-entries.mjs"),
  "lockfile addresses": script("check-lockfile.mjs"),
  "manifests: origin, keywords, ranges": script("check-manifests.mjs"),
  "requirements ledger": script("requirements.mjs", "check"),
  "command line page": tool("write-cli-doc.mjs", "--check"),
  "examples in comments": script("check-hover.mjs"),
  "records page": tool("write-records-doc.mjs", "--check"),
  "HTTP page": [process.execPath, join(root, "packages/http-server/scripts/write-http-doc.mjs"), "--check"],
  "OpenAPI document: rules, types, promises": script("check-openapi.mjs"),
  "layer diagram": tool("draw-layers.mjs", "--check"),
  "links in documents": script("check-docs.mjs"),
  "retired phrases": script("check-words.mjs"),
};

if (isProgram(import.meta)) await runTests({ ...slowGates, ...quickGates }, process.argv.slice(2));
