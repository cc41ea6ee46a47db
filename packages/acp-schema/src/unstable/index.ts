/** `@chimera/acp-schema/unstable`: what the unstable schema of Agent Client Protocol v1 adds or changes; the rest is in the root. The method tables are whole. */
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
export {
  PlanFile,
  PlanId,
  PlanItems,
  PlanMarkdown,
  PlanRemoved,
  PlanUpdate,
  PlanUpdateContent,
  SessionNotification,
  SessionUpdate,
  updates,
} from "./update.js";
