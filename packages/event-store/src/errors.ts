import type { Holder } from "./claim/identity.js";

/** The code of every error that this package throws. */
export type StoreErrorCode =
  | "not_found"
  | "exists"
  | "key_taken"
  | "fenced"
  | "claimed"
  | "elsewhere"
  | "outcome_unknown"
  | "closed"
  | "storage_full"
  | "read_only"
  | "io"
  | "database"
  | "damaged"
  | "unsupported_format"
  | "invalid_id"
  | "invalid_event"
  | "too_large"
  | "empty_batch";

const BRAND = Symbol.for("@chimera/event-store/error");

export class StoreError extends Error {
  readonly [BRAND] = true;
  readonly code: StoreErrorCode;
  /** With `claimed` and `fenced`: the process that holds the session, when its claim could be read. */
  readonly holder?: Holder;

  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown; holder?: Holder }) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
    if (options?.holder !== undefined) this.holder = options.holder;
  }
}

/**
 * True for a StoreError of any installed copy of this package.
 *
 * @example
 * if (isStoreError(error) && error.code === "not_found") return null;
 */
export function isStoreError(error: unknown): error is StoreError {
  return typeof error === "object" && error !== null && BRAND in error;
}

const CODES: Readonly<Record<string, StoreErrorCode>> = {
  ENOSPC: "storage_full",
  EDQUOT: "storage_full",
  EFBIG: "storage_full",
  EROFS: "read_only",
  EACCES: "read_only",
  EPERM: "read_only",
};

/** Wraps an error of the file system in a StoreError that names its code; a StoreError is returned unchanged. */
export function storageError(error: unknown, what: string): StoreError {
  if (isStoreError(error)) return error;
  const code = (error as NodeJS.ErrnoException | null)?.code ?? "unknown error";
  return new StoreError(CODES[code] ?? "io", `${what}: ${code}`, { cause: error });
}
