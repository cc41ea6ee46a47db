/** Errors of the native dialects. */
import * as v from "valibot";
import { plain } from "../define/shape.js";

export const errorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  /** Also an unknown session (`data: {sessionId}`) and a permission that is answered already. */
  invalidParams: -32602,
  internalError: -32603,
  /** The agent failed; `data` says how. */
  applicationError: -32000,
} as const;

/** `data` of an application error. */
export const ApplicationErrorData = plain(() => ({ name: v.string(), message: v.string(), stack: v.string() }));
export type ApplicationErrorData = v.InferOutput<typeof ApplicationErrorData>;
