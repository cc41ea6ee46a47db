// The public surface: JSON-RPC 2.0 over newline-delimited streams.

export {
  type CloseReason,
  type Connection,
  type ConnectionOptions,
  createConnection,
  type InputStream,
} from "./connection.js";
export {
  ConnectionError,
  type ConnectionErrorCode,
  ErrorCode,
  isConnectionError,
  isRpcError,
  RpcError,
  type RpcErrorObject,
} from "./errors.js";
export type {
  Frame,
  InvalidFrame,
  NotificationFrame,
  RequestFrame,
  RequestId,
  ResponseFrame,
} from "./frame.js";
export { createFrameReader, type LineSplitter } from "./frame-reader.js";
export type { MapError, UnknownMethod } from "./incoming.js";
export type { Limits } from "./limits.js";
export {
  deferred,
  defineMethods,
  type MethodRow,
  type Methods,
  mergeMethods,
  type NotificationContext,
  type NotificationRow,
  notification,
  type ParamsOf,
  type RequestContext,
  type RequestRow,
  type ResultOf,
  request,
} from "./method-table.js";
export type { OutputStream } from "./outbox.js";
export type { InputOf, InvalidPath, OutputOf, SchemaIssue, StandardSchema } from "./standard-schema.js";
