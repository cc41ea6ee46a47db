/** `@chimera/session`: sessions over a log, for any agent. */
export type {
  Agent,
  AgentContext,
  Ask,
  ClientTerminal,
  EngineMemory,
  McpServer,
  Turn,
  TurnSettings,
  Workspace,
} from "@chimera/acp-schema/agent";
export { heldElsewhere, isSessionError, namedError, SessionError, type SessionErrorCode } from "./errors.js";
export { createSessions } from "./lifecycle.js";
export { DEFAULT_SESSION_TTL } from "./limits.js";
export { foldLog, type SessionLogs } from "./logs.js";
export { sessionsFor } from "./people.js";
export { type Person, ROLES } from "./person.js";
export { promptOf } from "./prompt.js";
export type { Limits, Quotas } from "./quota.js";
export { recoverRestores, type StoredSnapshots } from "./recover.js";
export type { Rewind, RewindOptions, RewindReport } from "./rewind.js";
export type {
  Accepted,
  AttachedClient,
  OpenPermission,
  OwnedSession,
  PromptInput,
  ReadableSession,
  Session,
  SessionClient,
  SessionState,
} from "./session.js";
export type {
  CreateOptions,
  ListedSummary,
  ReachableSessions,
  SessionFiles,
  SessionReading,
  Sessions,
  SessionsDeps,
} from "./sessions.js";
export { DEFAULT_SETTINGS, type OptionOrders, parseMode, type SettingChange, type Settings } from "./settings.js";
export { createSlashPalette, parseSteps, type SlashCommand, type SlashContext, type SlashPalette } from "./slash.js";
export { changesSummary, type MakingRequest, sessionSummaries, titleFrom } from "./summary.js";
export type { ClientEffects, Files } from "./workspace.js";
