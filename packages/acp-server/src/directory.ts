/** A directory a client names: absolute, there, and a directory. */
import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";

export async function requireDirectories(paths: readonly string[]): Promise<void> {
  await Promise.all(paths.map(requireDirectory));
}

// --- internal ---

async function requireDirectory(path: string): Promise<void> {
  if (!isAbsolute(path) || path.includes("\0")) throw refused(path, "is not an absolute path");
  const found = await stat(path).catch(() => null);
  if (!found?.isDirectory()) throw refused(path, found ? "is not a directory" : "does not exist");
}

function refused(path: string, reason: string): RpcError {
  return new RpcError(ErrorCode.invalidParams, `${JSON.stringify(path.slice(0, 200))} ${reason}`, { path });
}
