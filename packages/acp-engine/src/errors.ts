/** Why an engine failed. The turn ends with this error, and the next turn starts the program again if it has ended. */
export type EngineErrorCode = "start_failed" | "ended" | "bad_answer" | "no_answer" | "login_needed" | "refused";

export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
