#!/usr/bin/env node
// Every function that an embedder imports says in its comment what it is for, with an example: an editor shows it where it is called.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { runGate } from "./gate.mjs";
import { listFiles } from "./workspace.mjs";

/** The packages that a program of somebody else is made of. */
export const EMBEDDED = [
  "session",
  "http-server",
  "acp-server",
  "agent",
  "client",
  "event-store",
  "snapshot-store",
  "run-reports",
];

/** A function that leaves its file, and the comment right before it. */
const FUNCTION = /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^export (?:async )?function\*? (\w+)/gm;

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkHover(root) {
  const problems = [];
  let count = 0;
  for (const name of EMBEDDED) {
    const place = join(root, "packages", name);
    const exported = exportedFrom(join(place, "src", "index.ts"));
    for (const path of listFiles(root, `packages/${name}/src`, [".ts"])) {
      const source = readFileSync(join(root, path), "utf8");
      for (const [, comment = "", func] of source.matchAll(FUNCTION)) {
        if (!exported.has(`${join(root, path)} ${func}`)) continue;
        count += 1;
        if (!comment.includes("@example"))
          problems.push(`${relative(root, join(root, path))}: ${func} has no example in its comment`);
      }
    }
  }
  return { problems, summary: `${count} functions, each with an example` };
}

await runGate(import.meta, checkHover);

// --- internal ---

/** `file name` of everything that an entry exports from a file of its own. */
function exportedFrom(entry) {
  const source = readFileSync(entry, "utf8");
  const found = new Set();
  for (const [, names, from] of source.matchAll(/export \{([^}]*)\} from "(\.[^"]+)"/g)) {
    const path = join(dirname(entry), from.replace(/\.js$/, ".ts"));
    for (const name of names.split(",")) found.add(`${path} ${name.trim().split(" as ")[0]}`);
  }
  return found;
}
