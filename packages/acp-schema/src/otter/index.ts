/** `@chimera/acp-schema/otter`: the native dialect of otter. */

export { strict } from "../define/mode.js";
export { ApplicationErrorData, errorCodes } from "./error.js";
export {
  AgentCapabilities,
  Capabilities,
  InitializeRequest,
  InitializeResponse,
  OTTER_ACP_DEFAULT_HISTORY_SIZE,
  OTTER_ACP_PROTOCOL_VERSION,
  OTTER_PROTOCOL_VERSION,
  ServerInfo,
} from "./initialize.js";
export { agentMethods, clientMethods } from "./methods.js";
export {
  PermissionReply,
  PermissionRespondRequest,
  PermissionRespondResponse,
  ToolApproveRequest,
  ToolApproveResponse,
} from "./permission.js";
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
} from "./session.js";
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
} from "./turn.js";
export {
  AgentMessageChunk,
  PermissionRequest,
  SessionNotification,
  SessionUpdate,
  ToolCall,
  ToolResult,
  UsageUpdate,
  updates,
} from "./update.js";
