/** Why an engine could not do what it was asked: the turn ends with it, and the next one starts the program again. */
export type EngineErrorCode = "start_failed" | "ended" | "bad_answer" | "no_answer" | "login_needed" | "refused";

export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
