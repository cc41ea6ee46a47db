/** `@chimera/acp-schema/ferret`: what the native dialect of ferret adds to otter's or changes in it. The method tables are whole. */
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
