import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { HttpError } from "../errors.js";

/** A directory of the caller's: absolute, so that it means the same to both, and there. */
export async function existingDirectory(directory: string, field: string): Promise<string> {
  const refused = (why: string) => new HttpError(400, `invalid_${field}`, `${field} ${why}`);
  if (!isAbsolute(directory) || directory.includes("\0")) throw refused("must be an absolute path");
  const found = await stat(directory).catch(() => null);
  if (!found?.isDirectory()) throw refused(found ? "is not a directory" : "does not exist");
  return directory;
}
