/** JSON-RPC errors as ACP uses them. */
import * as v from "valibot";
import { lenient, plain } from "../define/shape.js";

/** The codes of JSON-RPC 2.0, the same in every dialect. */
export const jsonRpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

/** The codes that ACP gives a meaning. */
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

// biome-ignore lint/suspicious/noShadowRestrictedNames: this is the name in the specification.
export const Error = plain(() => ({ code: ErrorCode, message: v.string(), data: lenient(v.unknown()) }));
export type Error = v.InferOutput<typeof Error>;
