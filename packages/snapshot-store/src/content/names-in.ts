import { readdirSync } from "node:fs";
import { errnoOf } from "../errors.js";

/** The names in a directory; none when there is no such directory. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw error;
  }
}
