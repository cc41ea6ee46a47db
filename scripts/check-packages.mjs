#!/usr/bin/env node
// What a stranger gets from the registry: every package is packed and judged, published up to the upload, installed into an empty
// directory as a library and globally as a program, and used there. Needs pnpm on PATH (`npm test` provides it).
//   node scripts/check-packages.mjs [root] [--newest]    --newest: the newest dependencies that the ranges allow
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runGate } from "./gate.mjs";
import { useLibraries } from "./packages/libraries.mjs";
import { packAll, publishDry } from "./packages/pack.mjs";
import { usePrograms } from "./packages/programs.mjs";
import { readPackages } from "./workspace.mjs";

/** @returns {Promise<{ problems: string[], summary: string }>} each problem starts with what it is about */
export async function checkPackages(root) {
  const packages = readPackages(root).filter(({ manifest }) => manifest.private !== true);
  const newest = process.argv.includes("--newest");
  const scratch = mkdtempSync(join(tmpdir(), "chimera-packages-"));
  try {
    const { tarballs, problems } = await packAll(packages, scratch);
    if (problems.length === 0) problems.push(...(await publishDry(root)));
    if (problems.length === 0) {
      const uses = [
        useLibraries(root, tarballs, join(scratch, "library"), { newest }),
        usePrograms(tarballs, join(scratch, "programs")),
      ];
      problems.push(...(await Promise.all(uses)).flat());
    }
    return { problems, summary: `${packages.length} packages pack, publish, install, compile and run` };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

await runGate(import.meta, checkPackages);
