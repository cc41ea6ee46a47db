/** The code of every error that this package throws. */
export type SnapshotErrorCode =
  | "invalid_id"
  | "no_turn"
  | "turn_running"
  | "not_found"
  | "bad_manifest"
  | "unsupported_format"
  | "workspace_moved"
  | "storage_full"
  | "read_only"
  | "io";

const BRAND = Symbol.for("@chimera/snapshot-store/error");

export class SnapshotError extends Error {
  readonly [BRAND] = true;
  readonly code: SnapshotErrorCode;

  constructor(code: SnapshotErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "SnapshotError";
    this.code = code;
  }
}

/**
 * True for a SnapshotError of any installed copy of this package.
 *
 * @example
 * if (isSnapshotError(error) && error.code === "turn_running") await session.idle();
 */
export function isSnapshotError(error: unknown): error is SnapshotError {
  return typeof error === "object" && error !== null && BRAND in error;
}

const CODES: Readonly<Record<string, SnapshotErrorCode>> = {
  ENOSPC: "storage_full",
  EDQUOT: "storage_full",
  EROFS: "read_only",
};

/** Wraps an error of the file system in a SnapshotError; a SnapshotError is returned unchanged. */
export function toSnapshotError(error: unknown, doing: string): SnapshotError {
  if (isSnapshotError(error)) return error;
  const code = CODES[errnoOf(error) ?? ""] ?? "io";
  const detail = error instanceof Error ? error.message : String(error);
  return new SnapshotError(code, `${doing}: ${detail}`, { cause: error });
}

/** The result of the call; null when the file system refuses it with one of these codes. */
export function unless<T>(codes: readonly string[], call: () => T): T | null {
  try {
    return call();
  } catch (error) {
    if (codes.includes(errnoOf(error) ?? "")) return null;
    throw error;
  }
}

/** The result of the call, or the other value when it throws anything. */
export function orElse<T, U>(call: () => T, otherwise: U): T | U {
  try {
    return call();
  } catch {
    return otherwise;
  }
}

/** The `code` of a file-system error, if it has one. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
