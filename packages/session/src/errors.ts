/** The errors of this package. Transports map the codes to their own numbers. */
import { describeHolder, type Holder, isStoreError, type StoreErrorCode } from "@chimera/event-store";
import type { SnapshotError, SnapshotErrorCode } from "@chimera/snapshot-store";

export type SessionErrorCode =
  | "session_not_found"
  | "session_claimed"
  | "session_elsewhere"
  | "outcome_unknown"
  | "session_closed"
  | "session_damaged"
  | "turn_running"
  | "queue_full"
  | "key_reused"
  | "permission_not_found"
  | "question_not_found"
  | "already_resolved"
  | "not_as_shown"
  | "invalid_setting"
  | "too_large"
  | "forbidden_directory"
  | "read_only"
  | "draining"
  | "limit_reached"
  | "budget_spent"
  | "nothing_to_fork"
  | "unsupported_format"
  | "workspace_moved"
  | "storage_full"
  | "storage_read_only"
  | "storage_failed";

const BRAND = Symbol.for("@chimera/session/error");

export class SessionError extends Error {
  readonly [BRAND] = true;
  readonly code: SessionErrorCode;
  /** The session of the error, if it is known. */
  readonly sessionId?: string;
  /** With `session_claimed`: the process that has the session, if that could be read. */
  readonly holder?: Pick<Holder, "program" | "pid" | "host" | "since">;

  constructor(code: SessionErrorCode, message: string, options: { cause?: unknown; sessionId?: string } = {}) {
    super(message, options);
    this.name = "SessionError";
    this.code = code;
    if (options.sessionId !== undefined) this.sessionId = options.sessionId;
    const holder = isStoreError(options.cause) ? options.cause.holder : undefined;
    if (holder !== undefined) {
      const { program, pid, host, since } = holder;
      this.holder = { ...(program && { program }), pid, host, ...(since && { since }) };
    }
  }
}

export function notFound(id: string): SessionError {
  return new SessionError("session_not_found", `there is no session ${id}`, { sessionId: id });
}

/**
 * True for a SessionError of any installed copy of this package.
 *
 * @example
 * if (isSessionError(error) && error.code === "session_claimed") console.log(error.holder);
 */
export function isSessionError(error: unknown): error is SessionError {
  return typeof error === "object" && error !== null && BRAND in error;
}

/**
 * Translates errors of the log and snapshot stores into a `SessionError`, whose message names no file. Returns other errors as they are.
 *
 * @param hint what a person may do about it
 *
 * @example
 * await store.open(id).catch((error) => { throw namedError(error, id); });
 */
export function namedError(error: unknown, sessionId?: string, hint?: string): unknown {
  const row = isStoreError(error) ? STORE[error.code] : isSnapshotError(error) ? SNAPSHOTS[error.code] : undefined;
  if (row === undefined) return error;
  const [code, says] = row;
  const options = { cause: error, ...(sessionId !== undefined && { sessionId }) };
  const message = says?.(error as StoreFailure, sessionId) ?? (error as Error).message;
  return new SessionError(code, hint === undefined ? message : `${message}; ${hint}`, options);
}

/**
 * The session that could not be opened because another node has it. Null for every other error, also for one after the session was opened,
 * because something may have been done by then.
 *
 * @example
 * const id = heldElsewhere(error); // "otter-20260425T120300-aaaa1111"
 */
export function heldElsewhere(error: unknown): string | null {
  if (!isSessionError(error) || !isStoreError(error.cause)) return null;
  return error.cause.code === "claimed" || error.cause.code === "elsewhere" ? (error.sessionId ?? null) : null;
}

// --- internal ---

type StoreFailure = Error & { readonly holder?: Holder };
type Row = readonly [SessionErrorCode, ((error: StoreFailure, id?: string) => string)?];

/** Does not import `isSnapshotError`, because its package is loaded only with the first turn. */
function isSnapshotError(error: unknown): error is SnapshotError {
  return error instanceof Error && error.name === "SnapshotError";
}

/** The error code of the system, for the message. */
function reasonOf({ cause }: StoreFailure): string {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === "string" ? ` (${code})` : "";
}

const missing: Row = ["session_not_found", (_, id) => (id ? `there is no session ${id}` : "there is no such session")];
const full: Row = ["storage_full", (error) => `the disk is full${reasonOf(error)}: free some space and try again`];
const readOnly: Row = [
  "storage_read_only",
  (error) => `the disk cannot be written${reasonOf(error)}: make it writable and try again; sessions can still be read`,
];
const failed: Row = [
  "storage_failed",
  (error) => `the disk failed${reasonOf(error)}: try again; the server's log has the details`,
];
const newer: Row = ["unsupported_format", () => "a newer version wrote this: open it with that version"];
const claimed: Row = [
  "session_claimed",
  ({ holder }, id) => `${id ? `session ${id}` : "this session"} is open in ${describeHolder(holder)}`,
];

const STORE: Partial<Record<StoreErrorCode, Row>> = {
  not_found: missing,
  invalid_id: missing,
  claimed,
  fenced: claimed,
  elsewhere: ["session_elsewhere"],
  outcome_unknown: ["outcome_unknown"],
  closed: ["session_closed"],
  damaged: ["session_damaged"],
  storage_full: full,
  read_only: readOnly,
  io: failed,
  database: ["storage_failed"],
  unsupported_format: newer,
  invalid_event: ["invalid_setting"],
  too_large: ["too_large"],
};

const SNAPSHOTS: Partial<Record<SnapshotErrorCode, Row>> = {
  turn_running: ["turn_running"],
  bad_manifest: ["session_damaged", () => "the undo data is damaged: these turns cannot be undone"],
  unsupported_format: newer,
  workspace_moved: ["workspace_moved"],
  storage_full: full,
  read_only: readOnly,
  io: failed,
};
