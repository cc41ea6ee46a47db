import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { absolutePath } from "./environment.js";
import { isInside, isPermitted, realPath } from "./paths.js";

/** Finds the first program with this name in an absolute `PATH` entry outside the workspaces. Keeps links, because names may matter. */
export function findProgram(name: string, path: string | undefined, roots: readonly string[]): string | undefined {
  const planted = (place: string) => roots.some((root) => isInside(place, root));
  for (const entry of absolutePath(path).split(delimiter)) {
    const directory = realPath(entry);
    const file = realPath(join(entry, name));
    if (!directory || !file || planted(directory) || planted(file)) continue;
    // If this process may not run the file, the next entry may have another.
    if (isPermitted(file, constants.X_OK)) return join(directory, name);
  }
  return undefined;
}

const VERSION_TIMEOUT_MS = 10_000;

/** The version number in a program's answer to `--version`. */
export async function programVersion(file: string): Promise<string> {
  const { stdout } = await promisify(execFile)(file, ["--version"], { env: {}, timeout: VERSION_TIMEOUT_MS });
  return /\d+\.\d+(\.\d+)?/.exec(stdout)?.[0] ?? "0.0.0";
}

/** Whether a version is at least this one. */
export function atLeast(version: string, major: number, minor: number): boolean {
  const [actualMajor = 0, actualMinor = 0] = version.split(".").map(Number);
  return actualMajor > major || (actualMajor === major && actualMinor >= minor);
}
