/** Resolves the path that a model gives to the one real path, and says whether that is inside the workspace. */
import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Workspace } from "@chimera/acp-schema/agent";
import { orElse } from "@chimera/acp-schema/lenient";
import { startOf } from "@chimera/acp-schema/text";
import { AgentError } from "../errors.js";

export type Roots = Pick<Workspace, "cwd" | "directories">;

export interface RealPath {
  /** Absolute, with every symbolic link followed; the last parts may not exist yet. */
  readonly path: string;
  readonly inside: boolean;
  /** The path that people and the model read: relative to the workspace if it is inside. */
  readonly shown: string;
}

const MAX_PATH = 4096;
const MAX_NAME = 255;
const MAX_LINKS = 40;

/** Follows links itself when the end of the path does not exist, to detect a dangling link out of the workspace. */
export function resolvePath(input: string, roots: Roots): RealPath {
  refuseMalformed(input);
  const root = realRoot(roots.cwd);
  const path = follow(resolve(root, input));
  const inside = [root, ...roots.directories.map(realRoot)].some((directory) => isBeneath(path, directory));
  return { path, inside, shown: isBeneath(path, root) ? relative(root, path) || "." : path };
}

// --- internal ---

/** True for the directory itself and for everything below it, but not for a sibling whose name begins the same way. */
function isBeneath(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}

function refuseMalformed(input: string): void {
  if (input === "") throw new AgentError("path_invalid", "The path is empty.");
  if (input.includes("\0")) throw new AgentError("path_invalid", "The path holds a NUL character.");
  if (/^~(?:[^/\\]*[/\\]|$)/.test(input)) {
    throw new AgentError("path_invalid", `"~" is not expanded: give a path in the workspace or an absolute one.`);
  }
  // As a path, a URL would name a directory such as "file:" in the workspace.
  if (/^(?:[a-z][a-z0-9+.-]+:[/\\]{2}|file:)/i.test(input)) {
    throw new AgentError(
      "path_invalid",
      `${startOf(input, 200)} is a URL: give a path in the workspace or an absolute one.`,
    );
  }
  if (Buffer.byteLength(input) > MAX_PATH || input.split(/[/\\]/).some((name) => Buffer.byteLength(name) > MAX_NAME)) {
    throw new AgentError("path_invalid", "The path is too long.");
  }
}

function realRoot(directory: string): string {
  return orElse(() => realpathSync.native(directory), null) ?? resolve(directory);
}

function follow(start: string): string {
  let path = start;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    try {
      return realpathSync.native(path);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw unusable(start, error);
    }
    const parent = dirname(path);
    if (parent === path) return path;
    const real = join(follow(parent), basename(path));
    const target = linkTarget(real);
    if (target === null) return real;
    path = isAbsolute(target) ? target : resolve(dirname(real), target);
  }
  throw new AgentError("path_invalid", `Too many symbolic links: ${start}`);
}

function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw unusable(path, error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ELOOP: "too many symbolic links",
  ENOTDIR: "a part of it is a file, not a directory",
  ENAMETOOLONG: "the path is too long",
  EACCES: "no permission",
};

function unusable(path: string, cause: unknown): AgentError {
  const code = codeOf(cause);
  return new AgentError("path_invalid", `Cannot use ${path}: ${REASONS[code] ?? code}.`, { cause });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown error";
}
