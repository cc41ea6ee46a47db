/** `@chimera/acp-schema/http`: request and response bodies of the HTTP routes. */

export { strict } from "../define/mode.js";
export { CommandsReply, InvokeCommandBody, InvokeCommandReply } from "./command.js";
export { ErrorReply } from "./error.js";
export { PermissionBody, PermissionReply, ToolApproveBody, ToolApproveReply } from "./permission.js";
export { CostTotals, RunCostRow, RunRow, RunsCostReply, RunsQuery, RunsReply } from "./report.js";
export { type Route, routes } from "./routes.js";
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
export { AliveReply, HealthReply, InfoReply, ProvidersReply, ToolsReply } from "./server.js";
export {
  CreateRunningSessionBody,
  CreateRunningSessionReply,
  CreateSessionBody,
  CreateSessionReply,
  ForkBody,
  ForkReply,
  ListSessionsQuery,
  ListSessionsReply,
  LiveSessionsReply,
  MessageBody,
  MessageReply,
  RotateTokenReply,
  SessionDetail,
  SessionRow,
  SessionSnapshot,
  TitleBody,
  TitleReply,
  TurnBody,
  TurnReply,
} from "./session.js";
export { ShareBody, ShareReply, TranscriptFormat, TranscriptQuery } from "./share.js";
export { EndData, Loss, sessionStream } from "./stream.js";
export { RewindBody, RewindReply, Snapshot, SnapshotDiffReply, SnapshotsReply } from "./undo.js";
