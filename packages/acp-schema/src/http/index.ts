/** `@chimera/acp-schema/http`: the request and response bodies of the HTTP routes. */

export { strict } from "../define/mode.js";
export { CommandsReply, InvokeCommandBody, InvokeCommandReply, SessionCommandsReply } from "./command.js";
export type { ErrorCode, ErrorStatus } from "./errors.js";
export {
  ChangesQuery,
  ChangesReply,
  ClientsReply,
  FilesQuery,
  FilesReply,
  SearchQuery,
  SearchReply,
} from "./inspect.js";
export { MeReply, PageCodeReply, PageTokenBody, PageTokenReply, PageTokensReply } from "./page.js";
export { CostTotals, RunCostRow, RunRow, RunsCostReply, RunsQuery, RunsReply } from "./report.js";
export { type Route, type RouteName, routes, type Tier } from "./routes.js";
export {
  AgentManifest,
  AgentsReply,
  CreateRunBody,
  MessagePart,
  Run,
  RunEvent,
  RunEventsReply,
  RunMessage,
  RunMode,
  RunStatus,
} from "./run.js";
export {
  AliveReply,
  EnginesReply,
  ErrorReply,
  HealthReply,
  InfoReply,
  ProvidersReply,
  ReadyReply,
  ToolsReply,
} from "./server.js";
export {
  CreateRunningSessionBody,
  CreateRunningSessionReply,
  CreateSessionBody,
  CreateSessionReply,
  DeleteSessionQuery,
  DeleteSessionReply,
  ForkBody,
  ForkReply,
  ListSessionsQuery,
  ListSessionsReply,
  LiveSessionsReply,
  Loss,
  RecordOrLoss,
  RotateTokenReply,
  SessionDetail,
  SessionRow,
  SessionSnapshot,
  SessionSummary,
  ShareBody,
  ShareReply,
  TitleBody,
  TitleReply,
  TranscriptFormat,
  TranscriptQuery,
} from "./session.js";
export { Content, ModelsReply, SettingsBody, SettingsReply } from "./settings.js";
export { AcpMessage, EndData, ManyQuery, manyStream, StreamQuery, sessionStream } from "./stream.js";
export {
  MessageBody,
  MessageReply,
  PermissionBody,
  PermissionReply,
  PermissionsReply,
  QuestionBody,
  QuestionReply,
  QuestionsReply,
  RewindBody,
  RewindReply,
  Snapshot,
  SnapshotDiffReply,
  SnapshotsReply,
  ToolApproveBody,
  ToolApproveReply,
  TurnBody,
  TurnReply,
} from "./turn.js";
