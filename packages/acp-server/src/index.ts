/** `@chimera/acp-server`: the Agent Client Protocol over any sessions. */
export { type ChoiceContext, chooseDialect, type DialectChoice } from "./choose-dialect.js";
export type { Choice, Core, OfferedModes, SessionOption } from "./core.js";
export type {
  ConnectionContext,
  Dialect,
  DialectContext,
  Extension,
  OpenedDialect,
  ProgramInfo,
} from "./dialect.js";
export { ferretDialect, type NativeDialectOptions, nativeDialect, otterDialect } from "./native/dialect.js";
export type { RemoteSession } from "./remote.js";
export {
  type Handlers,
  type MethodTraits,
  type RemoteRule,
  type Rows,
  rowsOf,
  type Shape,
  type Traits,
} from "./row.js";
export { type AcpLog, type AcpServer, type AcpServerOptions, serveAcp } from "./serve.js";
export type { SessionView } from "./session-view.js";
export { standardDialect } from "./standard/dialect.js";
