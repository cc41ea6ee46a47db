/** `@chimera/acp-schema/ferret`: the native dialect of ferret, a superset of otter's. */
export { Capabilities, FERRET_PROTOCOL_VERSION, InitializeResponse } from "./initialize.js";
export { agentMethods, clientMethods } from "./methods.js";
export { PermissionRespondRequest } from "./permission.js";
export {
  ApprovalPreset,
  BridgeStatusRequest,
  BridgeStatusResponse,
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
