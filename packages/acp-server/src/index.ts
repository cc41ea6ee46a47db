/** `@chimera/acp-server`: the Agent Client Protocol over any sessions. */
export { type ChoiceContext, chooseDialect, type DialectChoice, type DialectName } from "./choose-dialect.js";
export type { ConnectionContext, ProgramInfo } from "./context.js";
export type { Choice, Core, SessionOption } from "./core.js";
export type { Dialect, DialectContext, OpenedDialect } from "./dialect.js";
export type { Extension } from "./extension.js";
export { lazyMethods } from "./lazy-methods.js";
export { ferretDialect, type NativeDialectOptions, nativeDialect, otterDialect } from "./native/dialect.js";
export { type Handlers, rowsOf, type Shape } from "./rows.js";
export { type AcpServer, type AcpServerOptions, serveAcp } from "./serve.js";
export { standardDialect } from "./standard/dialect.js";
export type { SessionView } from "./view.js";
