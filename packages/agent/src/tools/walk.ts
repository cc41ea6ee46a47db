/** Walks a directory the way a developer looks at it: what `.gitignore` leaves out is left out, links are not followed. */
import type { Dirent } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Ignore } from "ignore";

const NEVER = new Set([".git", ".hg", ".svn", "node_modules"]);
const MAX_IGNORE_BYTES = 1024 * 1024;

/** Paths relative to `root` with forward slashes, each directory's entries in order of name. */
export async function* walk(root: string, signal: AbortSignal): AsyncGenerator<string> {
  const { default: ignore } = await import("ignore");
  yield* visit(root, root, [], ignore, signal);
}

// --- internal ---

interface Rules {
  readonly base: string;
  readonly rules: Ignore;
}

async function* visit(
  root: string,
  directory: string,
  inherited: readonly Rules[],
  ignore: () => Ignore,
  signal: AbortSignal,
): AsyncGenerator<string> {
  signal.throwIfAborted();
  const entries = await entriesOf(directory, directory === root);
  const text = entries.some((entry) => entry.name === ".gitignore" && entry.isFile())
    ? await ignoreFile(directory)
    : "";
  const active = text === "" ? inherited : [...inherited, { base: directory, rules: ignore().add(text) }];
  for (const entry of entries) {
    const path = join(directory, entry.name);
    const isDirectory = entry.isDirectory();
    if (isDirectory && NEVER.has(entry.name)) continue;
    if (active.some(({ base, rules }) => rules.ignores(slashed(relative(base, path)) + (isDirectory ? "/" : ""))))
      continue;
    if (isDirectory) yield* visit(root, path, active, ignore, signal);
    else if (entry.isFile() || entry.isSymbolicLink()) yield slashed(relative(root, path));
  }
}

async function entriesOf(directory: string, required: boolean): Promise<Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    // One unreadable directory must not hide the others.
    if (required) throw error;
    return [];
  }
}

async function ignoreFile(directory: string): Promise<string> {
  const text = await readFile(join(directory, ".gitignore"), "utf8").catch(() => "");
  return text.length > MAX_IGNORE_BYTES ? "" : text;
}

function slashed(path: string): string {
  return sep === "/" ? path : path.replaceAll(sep, "/");
}
