/** `@chimera/acp-schema/ferret`: the native dialect of ferret; what it has from otter is the same object. */

export { strict } from "../define/mode.js";
export { ApplicationErrorData, errorCodes } from "../otter/error.js";
export {
  AgentCapabilities,
  InitializeRequest,
  OTTER_ACP_DEFAULT_HISTORY_SIZE,
  OTTER_ACP_PROTOCOL_VERSION,
  OTTER_PROTOCOL_VERSION,
  ServerInfo,
} from "../otter/initialize.js";
export {
  PermissionReply,
  PermissionRespondResponse,
  ToolApproveRequest,
  ToolApproveResponse,
} from "../otter/permission.js";
export {
  ForkSessionRequest,
  ForkSessionResponse,
  GetSessionResponse,
  ListedSession,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionResponse,
  NewSessionRequest,
  NewSessionResponse,
  SessionRef,
  SessionState,
  SetModelRequest,
  SetModeRequest,
} from "../otter/session.js";
export {
  CancelResponse,
  ErrorRecord,
  MessageRequest,
  MessageResponse,
  ResumeRequest,
  ResumeResponse,
  StepEndRecord,
  StepStartRecord,
  TextDeltaRecord,
  ToolCallRecord,
  ToolResultRecord,
  TurnEndRecord,
  TurnRequest,
  turnNotifications,
} from "../otter/turn.js";
export { ToolCall, ToolResult, UsageUpdate } from "../otter/update.js";
export { Capabilities, FERRET_PROTOCOL_VERSION, InitializeResponse } from "./initialize.js";
export { agentMethods, clientMethods } from "./methods.js";
export {
  ApprovalPreset,
  BridgeStatusRequest,
  BridgeStatusResponse,
  PermissionRespondRequest,
  SandboxMode,
  SetApprovalRequest,
  SetApprovalResponse,
  SetSandboxRequest,
  SetSandboxResponse,
} from "./setting.js";
export {
  AgentMessageChunk,
  ApprovalChanged,
  CostUpdate,
  FileEdit,
  FileOpen,
  kinds,
  Notice,
  PermissionRequest,
  SandboxViolation,
  SessionNotification,
  SessionUpdate,
  ToolCallEnd,
  ToolCallProgress,
  ToolCallStart,
  TurnEnd,
} from "./update.js";
