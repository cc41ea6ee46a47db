/**
 * Where command files are found. Later directories win: a project's command shadows the user's of the same name, and the
 * plural directory the singular.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CustomCommand } from "./command.js";
import { parseCommand } from "./parse.js";

/** Larger files are no prompts. */
const MAX_BYTES = 256 * 1024;
const MAX_FILES = 500;

export async function discoverCommands(places: {
  readonly home: string;
  readonly cwd: string;
}): Promise<CustomCommand[]> {
  const folders = [places.home, places.cwd].flatMap((root) =>
    ["command", "commands"].map((folder) => join(root, ".opencode", folder)),
  );
  const found = new Map<string, CustomCommand>();
  // Read side by side: this stands between a prompt and its first word.
  for (const commands of await Promise.all(folders.map(readFolder))) {
    for (const command of commands) found.set(command.name, command);
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

// --- internal ---

async function readFolder(folder: string): Promise<CustomCommand[]> {
  // Most are not there, and asking at once costs less than waiting to be told so.
  if (!existsSync(folder)) return [];
  const names = await readdir(folder).catch(() => []);
  const files = names
    .filter((name) => name.endsWith(".md"))
    .sort()
    .slice(0, MAX_FILES);
  const commands = await Promise.all(files.map((name) => readCommand(join(folder, name))));
  return commands.filter((command) => command !== null);
}

async function readCommand(path: string): Promise<CustomCommand | null> {
  try {
    const { size } = await stat(path);
    return size > MAX_BYTES ? null : await parseCommand(await readFile(path, "utf8"), path);
  } catch {
    // A file that vanished or cannot be read hides only itself.
    return null;
  }
}
