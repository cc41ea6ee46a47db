/** `@chimera/acp-server`: the Agent Client Protocol over any session engine. */
export { type ChoiceContext, chooseDialect, type DialectChoice, type DialectName } from "./choose-dialect.js";
export type { Choice, Dialect, DialectContext, Engine, OpenedDialect, ProgramInfo, SessionView } from "./dialect.js";
export type { Extension, ExtensionOption } from "./extension.js";
export { type AcpServer, type AcpServerOptions, serveAcp } from "./serve.js";
export { standardDialect } from "./standard/dialect.js";
