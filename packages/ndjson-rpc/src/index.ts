// The public API: JSON-RPC 2.0 over newline-delimited streams.

export {
  createBackPressure,
  type InputStream,
  type LineChannel,
  type LineSubject,
  type OutputStream,
  streamChannel,
} from "./channel.js";
export {
  type CloseReason,
  type Connection,
  type ConnectionOptions,
  type ConnectionSettings,
  createConnection,
  type Wire,
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
export {
  encodeError,
  type Frame,
  type InvalidFrame,
  type NotificationFrame,
  type RequestFrame,
  type RequestId,
  type ResponseFrame,
} from "./frame.js";
export { frameOf, type Line } from "./frame-reader.js";
export type { MapError, UnknownMethod } from "./incoming.js";
export type { ConnectionLimits } from "./limits.js";
export {
  deferred,
  defineMethods,
  type MethodRow,
  type MethodSource,
  type Methods,
  type ParamsOf,
  type RequestContext,
  type ResultOf,
  row,
} from "./method-table.js";
export type { InputOf, InvalidPath, OutputOf, StandardSchema } from "./standard-schema.js";
