/** Everything this package throws. */
export type StoreErrorCode =
  | "not_found"
  | "exists"
  | "conflict"
  | "fenced"
  | "claimed"
  | "closed"
  | "storage_full"
  | "io"
  | "unsupported_format"
  | "invalid_id"
  | "invalid_event"
  | "too_large"
  | "empty_batch";

const BRAND = Symbol.for("@chimera/event-store/error");

export class StoreError extends Error {
  readonly [BRAND] = true;
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}

/** True for a StoreError of any installed copy of this package. */
export function isStoreError(error: unknown): error is StoreError {
  return typeof error === "object" && error !== null && BRAND in error;
}
