/** Where pidfiles lie unless the caller says otherwise. */
import { resolve } from "node:path";
import { resolvePaths } from "../paths.js";

export function runDirectory(directory: string | undefined): string {
  return directory === undefined ? resolvePaths(process.env).run : resolve(directory);
}
