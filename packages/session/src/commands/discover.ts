/**
 * Where command files are found; later directories win: the project's over the user's, `.chimera` over `.opencode`, plural over singular.
 * What another program keeps in `.claude` counts where nothing else has its name.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { CustomCommand } from "./command.js";
import { parseCommand } from "./parse.js";

/** A larger file is not a prompt. */
const MAX_BYTES = 256 * 1024;
const MAX_FILES = 500;
const FOLDERS = [
  ".claude/commands",
  ".opencode/command",
  ".opencode/commands",
  ".chimera/command",
  ".chimera/commands",
];

export async function discoverCommands(places: {
  readonly home: string;
  readonly cwd: string;
}): Promise<CustomCommand[]> {
  // The user may link to files anywhere; a project came from somewhere, and what it links to must be its own.
  const scopes = [{ root: places.home }, { root: places.cwd, within: places.cwd }];
  const folders = scopes.flatMap(({ root, within }) =>
    FOLDERS.map((folder) => ({ folder: join(root, folder), within })),
  );
  const found = new Map<string, CustomCommand>();
  // Read side by side: this stands between a prompt and its first word.
  for (const commands of await Promise.all(folders.map(({ folder, within }) => readFolder(folder, within)))) {
    for (const command of commands) found.set(command.name, command);
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

// --- internal ---

async function readFolder(folder: string, within: string | undefined): Promise<CustomCommand[]> {
  // Most folders do not exist, and a synchronous check costs less than a rejected promise.
  if (!existsSync(folder)) return [];
  const names = await readdir(folder).catch(() => []);
  const files = names
    // Hidden ones are drafts and locks of editors.
    .filter((name) => name.endsWith(".md") && !name.startsWith("."))
    .sort()
    .slice(0, MAX_FILES);
  const root = within && files.length > 0 ? await realpath(within).catch(() => within) : undefined;
  const commands = await Promise.all(files.map((name) => readCommand(join(folder, name), root)));
  return commands.filter((command) => command !== null);
}

async function readCommand(path: string, root: string | undefined): Promise<CustomCommand | null> {
  try {
    const real = await realpath(path);
    if (root !== undefined && !real.startsWith(root.endsWith(sep) ? root : root + sep)) return null;
    const found = await stat(real);
    return found.isFile() && found.size <= MAX_BYTES ? await parseCommand(await readFile(real, "utf8"), path) : null;
  } catch {
    // A file that vanished or cannot be read hides only itself.
    return null;
  }
}
