/** `@chimera/acp-schema/unstable`: Agent Client Protocol v1 with its unstable parts; what is stable is the same object as in the root. */
export { Annotations, Role } from "../acp/annotations.js";
export {
  AuthenticateRequest,
  AuthenticateResponse,
  AuthMethod,
  AuthMethodAgent,
  AuthMethodTerminal,
  LogoutRequest,
  LogoutResponse,
} from "../acp/auth.js";
export {
  AuthCapabilities,
  BooleanConfigOptionCapabilities,
  ClientSessionCapabilities,
  CompactionCapabilities,
  ElicitationCapabilities,
  ElicitationFormCapabilities,
  ElicitationUrlCapabilities,
  FileSystemCapabilities,
  LogoutCapabilities,
  NoticeCapabilities,
  PromptCapabilities,
  SessionAdditionalDirectoriesCapabilities,
  SessionCloseCapabilities,
  SessionConfigOptionsCapabilities,
  SessionDeleteCapabilities,
  SessionListCapabilities,
  SessionResumeCapabilities,
} from "../acp/capability.js";
export {
  AvailableCommand,
  AvailableCommandInput,
  AvailableCommandsUpdate,
  UnstructuredCommandInput,
} from "../acp/command.js";
export { CompactionStatus, CompactionSummaryChunk, CompactionUpdate } from "../acp/compaction.js";
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
} from "../acp/config-option.js";
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
} from "../acp/content.js";
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
} from "../acp/elicitation.js";
export { Error, ErrorCode, errorCodes } from "../acp/error.js";
export { ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse } from "../acp/fs.js";
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
} from "../acp/id.js";
export { Implementation, PROTOCOL_VERSION, ProtocolVersion } from "../acp/initialize.js";
export { HttpHeader, McpServerHttp, McpServerSse, McpServerStdio } from "../acp/mcp-server.js";
export { protocolMethods } from "../acp/methods.js";
export {
  CurrentModeUpdate,
  SessionMode,
  SessionModeState,
  SetSessionModeRequest,
  SetSessionModeResponse,
} from "../acp/mode.js";
export {
  PermissionOption,
  PermissionOptionKind,
  RequestPermissionOutcome,
  RequestPermissionRequest,
  RequestPermissionResponse,
  SelectedPermissionOutcome,
} from "../acp/permission.js";
export { Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus } from "../acp/plan.js";
export { CancelNotification, CancelRequestNotification, PromptRequest, StopReason } from "../acp/prompt.js";
export {
  CloseSessionRequest,
  CloseSessionResponse,
  DeleteSessionRequest,
  DeleteSessionResponse,
  LoadSessionResponse,
  NewSessionResponse,
  ResumeSessionResponse,
} from "../acp/session.js";
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
} from "../acp/terminal.js";
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
} from "../acp/tool-call.js";
export { ContentChunk, Notice, NoticeSeverity, SessionInfoUpdate } from "../acp/update.js";
export { Cost, UsageUpdate } from "../acp/usage.js";
export { type Method, type Methods, methodsOf, type Params, type Result, type Side } from "../define/method.js";
export { strict } from "../define/mode.js";
export { AuthAccount, AuthState, AuthStatusRequest, AuthStatusResponse, AuthStatusUpdateNotification } from "./auth.js";
export {
  AgentAuthCapabilities,
  AgentCapabilities,
  AuthStatusCapabilities,
  ClientCapabilities,
  McpCapabilities,
  PlanCapabilities,
  ProvidersCapabilities,
  SessionArchiveCapabilities,
  SessionCapabilities,
  SessionForkCapabilities,
  SessionStatusCapabilities,
  SessionSystemPromptCapabilities,
  SessionSystemPromptModeCapabilities,
  SessionSystemPromptOverrideCapabilities,
  SessionTitleCapabilities,
  SubagentCapabilities,
} from "./capability.js";
export { InitializeRequest, InitializeResponse } from "./initialize.js";
export {
  McpError,
  McpRequestId,
  McpServer,
  McpServerAcp,
  McpServerAcpId,
  MessageMcpNotification,
  MessageMcpRequest,
  MessageMcpResponse,
} from "./mcp-message.js";
export { agentMethods, clientMethods, proxyMethods, updateGates } from "./methods.js";
export { PlanFile, PlanId, PlanItems, PlanMarkdown, PlanRemoved, PlanUpdate, PlanUpdateContent } from "./plan.js";
export { PromptResponse, Usage } from "./prompt.js";
export {
  DisableProviderRequest,
  DisableProviderResponse,
  ListProvidersRequest,
  ListProvidersResponse,
  LlmProtocol,
  ProviderCurrentConfig,
  ProviderId,
  ProviderInfo,
  SetProviderRequest,
  SetProviderResponse,
} from "./provider.js";
export {
  InitializeProxyRequest,
  InitializeProxyResponse,
  ProxySuccessorNotification,
  ProxySuccessorRequest,
  ProxySuccessorResponse,
} from "./proxy.js";
export {
  ArchiveSessionRequest,
  ArchiveSessionResponse,
  ForkSessionRequest,
  ForkSessionResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionRequest,
  NewSessionRequest,
  ResumeSessionRequest,
  SessionArchiveFilter,
  SessionInfo,
  SessionStatus,
  SessionStatusRequest,
  SessionStatusResponse,
  SetSessionTitleRequest,
  SetSessionTitleResponse,
  SystemPrompt,
  SystemPromptMode,
  UnarchiveSessionRequest,
  UnarchiveSessionResponse,
} from "./session.js";
export {
  ErrorStopReason,
  IdleStateUpdate,
  RequiresActionStateUpdate,
  RunningStateUpdate,
  SessionCancelCapabilities,
  SessionMessage,
  SessionMessageChunk,
  StateUpdate,
  SubagentSessionCapabilities,
  SubagentUpdate,
  UnknownStateUpdate,
} from "./subagent.js";
export { SessionNotification, SessionUpdate, updates } from "./update.js";
