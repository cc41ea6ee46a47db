/** Everything this package throws. */
export type AgentErrorCode =
  | "unknown_tool"
  | "path_invalid"
  | "path_outside"
  | "not_a_file"
  | "not_text"
  | "file_too_large"
  | "edit_no_match"
  | "edit_many_matches"
  | "bad_pattern"
  | "mcp_config"
  | "mcp_connect"
  | "mcp_closed"
  | "mcp_call";

const BRAND = Symbol.for("@chimera/agent/error");

export class AgentError extends Error {
  readonly [BRAND] = true;
  readonly code: AgentErrorCode;

  constructor(code: AgentErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "AgentError";
    this.code = code;
  }
}

/** True for an AgentError of any installed copy of this package. */
export function isAgentError(error: unknown): error is AgentError {
  return typeof error === "object" && error !== null && BRAND in error;
}
