import { isAbsolute } from "node:path";
import { HttpError } from "../errors.js";

/** A directory of the caller's: absolute, so that it means the same to both. */
export function absoluteDirectory(directory: string, field: string): string {
  if (isAbsolute(directory) && !directory.includes("\0")) return directory;
  throw new HttpError(400, `invalid_${field}`, `${field} must be an absolute path`);
}
