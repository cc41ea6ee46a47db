/** Errors of the native dialects. */
import * as v from "valibot";
import { jsonRpcCodes } from "../acp/error.js";
import { plain } from "../define/shape.js";

/** `invalidParams` is also an unknown session (`data: {sessionId}`) and a permission that is answered already. */
export const errorCodes = {
  ...jsonRpcCodes,
  /** The agent failed; `data` says how. */
  applicationError: -32000,
} as const;

/** `data` of an application error. */
export const ApplicationErrorData = plain(() => ({ name: v.string(), message: v.string(), stack: v.string() }));
export type ApplicationErrorData = v.InferOutput<typeof ApplicationErrorData>;
