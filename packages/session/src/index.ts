/** `@chimera/session`: sessions over a log, for any agent. */
export type {
  Agent,
  AgentContext,
  Ask,
  ClientTerminal,
  McpServer,
  Turn,
  TurnSettings,
  Workspace,
} from "./agent-port.js";
export { isSessionError, SessionError, type SessionErrorCode } from "./errors.js";
export { createHistory, type Facts, type History, type TurnState, type Usage } from "./history.js";
export { DEFAULT_SESSION_TTL } from "./limits.js";
export { createOlderReader, OLDER_METADATA } from "./older-log.js";
export type { OpenPermission } from "./permissions.js";
export type { OwnTurn, TurnOwner } from "./run-turn.js";
export type { Accepted, Attachment, PromptInput, Session, SessionClient, SessionState } from "./session.js";
export {
  type CreateOptions,
  createSessions,
  type ListedSummary,
  type Sessions,
  type SessionsDeps,
} from "./sessions.js";
export {
  DEFAULT_SETTINGS,
  FLAG_OPTIONS,
  type FlagOption,
  type Flags,
  isFlagOption,
  MODE_FLAGS,
  MODES,
  type Mode,
  modeOf,
  parseMode,
  type Settings,
} from "./settings.js";
export { createSlashPalette, parseSteps, type SlashCommand, type SlashContext, type SlashPalette } from "./slash.js";
export { sessionSummaries } from "./summary.js";
export type { Rewind, RewindOptions, RewindReport } from "./undo.js";
export { visibleRecords } from "./visible.js";
export type { ClientEffects, Files } from "./workspace.js";
