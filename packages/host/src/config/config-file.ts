/** Files that a start reads. Synchronous: they are small, and the start waits for them. */
import { readFileSync, statSync } from "node:fs";
import { UsageError } from "../command/usage-error.js";

export interface ConfigFile {
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

const MAX_BYTES = 1024 * 1024;

/** A JSON object; null when there is no such file. A file that is there and cannot be understood is a usage error that names it. */
export function readConfigFile(path: string): ConfigFile | null {
  const content = readText(path);
  if (content === null) return null;
  let values: unknown;
  try {
    values = JSON.parse(content.replace(/^\uFEFF/, ""));
  } catch (error) {
    // The message leaves out the file's text, because a project's file may be a link to a secret.
    throw new UsageError(`${path}: not JSON: ${(error as Error).message.split(/,? (?:\.{3})?"|\n/, 1)[0]}`);
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new UsageError(`${path}: takes an object of settings`);
  }
  return { path, values: values as Record<string, unknown> };
}

/** A file that somebody named must be there. @param source how it was named: `--tls-cert`, `OTTER_MCP`, a config file. */
export function readNamedFile(source: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${source}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

// --- internal ---

function readText(path: string): string | null {
  try {
    // Asked in every turn, and most projects have no such file: throwing would cost more than the check.
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return null;
    // A pipe would never end.
    if (!found.isFile() || found.size > MAX_BYTES)
      throw new UsageError(`${path}: takes a file of at most ${MAX_BYTES} bytes`);
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === undefined) throw error;
    throw new UsageError(`${path}: cannot be read: ${message}`);
  }
}
