/** A file that somebody named must be there. */
import { readFileSync } from "node:fs";
import { UsageError } from "../command/usage-error.js";

/** @param source how it was named: `--tls-cert`, `OTTER_MCP`, a config file. */
export function readNamedFile(source: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${source}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}
