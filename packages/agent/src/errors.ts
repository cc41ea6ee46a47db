/** The errors of this package: one class with a closed set of codes. Two installed copies recognise each other's errors. */

export type AgentErrorCode =
  /** No such model, or no key for its provider. */
  | "model_unavailable"
  /** The provider refused the key. */
  | "unauthorized"
  /** Too many requests (429). */
  | "rate_limited"
  /** The provider is overloaded or failed (5xx, 529). */
  | "provider_failed"
  /** The connection could not be made, or ended before the reply did. */
  | "connection_lost"
  /** The reply stopped arriving. */
  | "stalled"
  /** The conversation no longer fits the model's context window. */
  | "context_overflow"
  /** The provider did not accept the request. */
  | "bad_request"
  /** What arrived is not the provider's protocol. */
  | "bad_reply"
  /** The model sent neither text nor a call, even when asked again. */
  | "empty_reply"
  /** The model makes the same call again and again, and gets the same result. */
  | "stuck"
  /** A script of the scripted provider is wrong, or received a request that it did not expect. */
  | "script"
  /** A bug: something that should not happen did. */
  | "internal"
  // Reasons for which a tool refuses a call.
  | "unknown_tool"
  | "unknown_skill"
  | "path_invalid"
  | "path_outside"
  | "not_a_file"
  | "not_text"
  | "file_too_large"
  | "edit_no_match"
  | "edit_many_matches"
  /** The file has changed since the model read it. */
  | "file_changed"
  | "bad_pattern"
  /** An address that may not be fetched, or could not be. */
  | "bad_address"
  /** The work reached its time limit. */
  | "too_slow"
  // Failures of an MCP server or of its configuration.
  | "mcp_connect"
  | "mcp_closed"
  | "mcp_call";

const BRAND = Symbol.for("@chimera/agent/error");

const RETRYABLE: ReadonlySet<AgentErrorCode> = new Set([
  "rate_limited",
  "provider_failed",
  "connection_lost",
  "stalled",
]);

export class AgentError extends Error {
  readonly code: AgentErrorCode;
  /** Whether the same request may succeed a little later. */
  readonly retryable: boolean;
  /** How long the provider asked the client to wait. */
  readonly retryAfterMs: number | undefined;
  readonly [BRAND] = true;

  constructor(code: AgentErrorCode, message: string, options?: { cause?: unknown; retryAfterMs?: number | undefined }) {
    super(message, options);
    this.name = "AgentError";
    this.code = code;
    this.retryable = RETRYABLE.has(code);
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/**
 * True for an AgentError of any installed copy of this package.
 *
 * @example
 * if (isAgentError(error) && error.retryable) await again();
 */
export function isAgentError(value: unknown): value is AgentError {
  return typeof value === "object" && value !== null && BRAND in value;
}

/** Wraps anything thrown as an agent error. An unknown error counts as a bug in this package or in a tool. */
export function asAgentError(thrown: unknown): AgentError {
  if (isAgentError(thrown)) return thrown;
  return new AgentError("internal", thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
}
