/** JSON-RPC errors as ACP uses them. */
import * as v from "valibot";
import { jsonRpcCodes } from "../define/json-rpc-codes.js";
import { lenient, plain } from "../define/shape.js";

/** The codes with a meaning of their own. */
export const errorCodes = {
  ...jsonRpcCodes,
  requestCancelled: -32800,
  /** Tells a client to log in; never an application failure. */
  authRequired: -32000,
  resourceNotFound: -32002,
} as const;

/** Any 32-bit integer. */
export const ErrorCode = v.pipe(v.number(), v.integer(), v.minValue(-(2 ** 31)), v.maxValue(2 ** 31 - 1));
export type ErrorCode = v.InferOutput<typeof ErrorCode>;

// biome-ignore lint/suspicious/noShadowRestrictedNames: the specification calls it so.
export const Error = plain(() => ({ code: ErrorCode, message: v.string(), data: lenient(v.unknown()) }));
export type Error = v.InferOutput<typeof Error>;
