/** A directory a client names: absolute, there, and a directory. */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";

export function requireDirectories(paths: readonly string[]): void {
  paths.forEach(requireDirectory);
}

// --- internal ---

function requireDirectory(path: string): void {
  if (!isAbsolute(path) || path.includes("\0")) throw refused(path, "is not an absolute path");
  const found = look(path);
  if (!found?.isDirectory()) throw refused(path, found ? "is not a directory" : "does not exist");
}

function look(path: string) {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function refused(path: string, reason: string): RpcError {
  return new RpcError(ErrorCode.invalidParams, `${JSON.stringify(path.slice(0, 200))} ${reason}`, { path });
}
