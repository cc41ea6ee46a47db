/**
 * Files that steer an agent, read from a project that may be hostile: never through a link that leaves it. Most are not there,
 * and asking at once costs less than waiting for a thread to say so.
 */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { extname, join } from "node:path";
import { readCanonicalText } from "./canonical-file.js";
import { resolvePath } from "./real-path.js";

const MAX_BYTES = 256 * 1024;
const MAX_FILES = 200;

/** Null when it is not there, leads out of `root`, is too large or is not text. */
export async function readTextBeneath(root: string, path: string): Promise<string | null> {
  if (!existsSync(join(root, path))) return null;
  try {
    const found = resolvePath(path, { cwd: root, directories: [] });
    // A link may lead to a file of the same kind (CLAUDE.md to AGENTS.md), but not to keys or settings.
    return found.inside && extname(found.path) === extname(path)
      ? await readCanonicalText(found.path, MAX_BYTES)
      : null;
  } catch {
    return null;
  }
}

/** The files of a directory with that ending, in order of name. */
export async function listBeneath(root: string, directory: string, ending: string): Promise<string[]> {
  const path = join(root, directory);
  const names = existsSync(path) ? await readdir(path).catch(() => []) : [];
  return names
    .filter((name) => name.endsWith(ending))
    .sort()
    .slice(0, MAX_FILES)
    .map((name) => join(directory, name));
}
