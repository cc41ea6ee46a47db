/** `@chimera/acp-schema`: Agent Client Protocol v1, stable. Types are what reading gives; `v.InferInput` of a schema is what may be written. */
export { Annotations, Role } from "./acp/annotations.js";
export {
  AuthenticateRequest,
  AuthenticateResponse,
  AuthMethod,
  AuthMethodAgent,
  AuthMethodTerminal,
  LogoutRequest,
  LogoutResponse,
} from "./acp/auth.js";
export {
  AgentAuthCapabilities,
  AgentCapabilities,
  AuthCapabilities,
  BooleanConfigOptionCapabilities,
  ClientCapabilities,
  ClientSessionCapabilities,
  CompactionCapabilities,
  ElicitationCapabilities,
  ElicitationFormCapabilities,
  ElicitationUrlCapabilities,
  FileSystemCapabilities,
  LogoutCapabilities,
  McpCapabilities,
  NoticeCapabilities,
  PromptCapabilities,
  SessionAdditionalDirectoriesCapabilities,
  SessionCapabilities,
  SessionCloseCapabilities,
  SessionConfigOptionsCapabilities,
  SessionDeleteCapabilities,
  SessionListCapabilities,
  SessionResumeCapabilities,
} from "./acp/capability.js";
export {
  AvailableCommand,
  AvailableCommandInput,
  AvailableCommandsUpdate,
  UnstructuredCommandInput,
} from "./acp/command.js";
export { CompactionStatus, CompactionSummaryChunk, CompactionUpdate } from "./acp/compaction.js";
export {
  ConfigOptionUpdate,
  SessionConfigBoolean,
  SessionConfigOption,
  SessionConfigOptionCategory,
  SessionConfigSelect,
  SessionConfigSelectGroup,
  SessionConfigSelectOption,
  SessionConfigSelectOptions,
  SetSessionConfigOptionRequest,
  SetSessionConfigOptionResponse,
} from "./acp/config-option.js";
export {
  AudioContent,
  BlobResourceContents,
  ContentBlock,
  EmbeddedResource,
  EmbeddedResourceResource,
  ImageContent,
  ResourceLink,
  TextContent,
  TextResourceContents,
} from "./acp/content.js";
export {
  BooleanPropertySchema,
  CompleteElicitationNotification,
  CreateElicitationRequest,
  CreateElicitationResponse,
  ElicitationAcceptAction,
  ElicitationContentValue,
  ElicitationFormMode,
  ElicitationPropertySchema,
  ElicitationRequestScope,
  ElicitationSchema,
  ElicitationSchemaType,
  ElicitationSessionScope,
  ElicitationUrlMode,
  EnumOption,
  IntegerPropertySchema,
  MultiSelectItems,
  MultiSelectPropertySchema,
  NumberPropertySchema,
  StringFormat,
  StringMultiSelectItems,
  StringPropertySchema,
  TitledMultiSelectItems,
} from "./acp/elicitation.js";
export { Error, ErrorCode, errorCodes } from "./acp/error.js";
export { ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse } from "./acp/fs.js";
export {
  AuthMethodId,
  CompactionId,
  ElicitationId,
  MessageId,
  PermissionOptionId,
  RequestId,
  SessionConfigGroupId,
  SessionConfigId,
  SessionConfigValueId,
  SessionId,
  SessionModeId,
  TerminalId,
  ToolCallId,
} from "./acp/id.js";
export {
  Implementation,
  InitializeRequest,
  InitializeResponse,
  PROTOCOL_VERSION,
  ProtocolVersion,
} from "./acp/initialize.js";
export { HttpHeader, McpServer, McpServerHttp, McpServerSse, McpServerStdio } from "./acp/mcp-server.js";
export { agentMethods, clientMethods, protocolMethods, updateGates } from "./acp/methods.js";
export {
  CurrentModeUpdate,
  SessionMode,
  SessionModeState,
  SetSessionModeRequest,
  SetSessionModeResponse,
} from "./acp/mode.js";
export {
  PermissionOption,
  PermissionOptionKind,
  RequestPermissionOutcome,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SelectedPermissionOutcome,
} from "./acp/permission.js";
export { Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus } from "./acp/plan.js";
export {
  CancelNotification,
  CancelRequestNotification,
  PromptRequest,
  PromptResponse,
  StopReason,
} from "./acp/prompt.js";
export {
  CloseSessionRequest,
  CloseSessionResponse,
  DeleteSessionRequest,
  DeleteSessionResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionRequest,
  LoadSessionResponse,
  NewSessionRequest,
  NewSessionResponse,
  ResumeSessionRequest,
  ResumeSessionResponse,
  SessionInfo,
} from "./acp/session.js";
export {
  CreateTerminalRequest,
  CreateTerminalResponse,
  EnvVariable,
  KillTerminalRequest,
  KillTerminalResponse,
  ReleaseTerminalRequest,
  ReleaseTerminalResponse,
  TerminalExitStatus,
  TerminalOutputRequest,
  TerminalOutputResponse,
  WaitForTerminalExitRequest,
  WaitForTerminalExitResponse,
} from "./acp/terminal.js";
export {
  Content,
  Diff,
  Terminal,
  ToolCall,
  ToolCallContent,
  ToolCallLocation,
  ToolCallStatus,
  ToolCallUpdate,
  ToolKind,
} from "./acp/tool-call.js";
export {
  ContentChunk,
  Notice,
  NoticeSeverity,
  SessionInfoUpdate,
  SessionNotification,
  SessionUpdate,
  updates,
} from "./acp/update.js";
export { Cost, UsageUpdate } from "./acp/usage.js";
export { type Method, type Methods, methodsOf, type Params, type Result, type Side } from "./define/method.js";
export { strict } from "./define/mode.js";
