/** `@chimera/acp-schema/unstable`: ACP v1's unstable schema. Has only definitions that differ from the root; method tables are complete. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { ErrorCode } from "../acp/error.js";
import { SessionId } from "../acp/id.js";
import * as handshake from "../acp/initialize.js";
import * as stable from "../acp/methods.js";
import * as session from "../acp/session.js";
import { McpServerHttp, McpServerSse, McpServerStdio } from "../acp/session.js";
import { Plan, updates as stableUpdates } from "../acp/update.js";
import { methodsOf } from "../define/method.js";
import {
  defaulted,
  items,
  json,
  lenient,
  list,
  maybe,
  object,
  open,
  openEnum,
  record,
  requiredItems,
  tagged,
  variant,
} from "../define/shape.js";
import { SessionMessage, SessionMessageChunk, SubagentUpdate, Usage } from "./subagent.js";

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
  Usage,
} from "./subagent.js";

// The login state.

export const AuthState = openEnum(["authenticated", "unauthenticated", "not_required", "unknown"]);
export type AuthState = v.InferOutput<typeof AuthState>;

export const AuthAccount = object(() => ({
  label: v.string(),
  active: maybe(v.boolean()),
  name: maybe(v.string()),
  email: maybe(v.string()),
  organization: maybe(v.string()),
}));
export type AuthAccount = v.InferOutput<typeof AuthAccount>;

const status = () => ({ state: AuthState, accounts: lenient(items(AuthAccount), () => []) });

export const AuthStatusRequest = object(() => ({}));
export const AuthStatusResponse = object(status);
export const AuthStatusUpdateNotification = object(status);

// Capabilities with their unstable markers.

export const SessionSystemPromptOverrideCapabilities = object(() => ({}));

export const SessionSystemPromptModeCapabilities = object(() => ({
  override: maybe(SessionSystemPromptOverrideCapabilities),
}));

export const SessionSystemPromptCapabilities = object(() => ({ mode: maybe(SessionSystemPromptModeCapabilities) }));
export const SessionForkCapabilities = object(() => ({}));
export const SessionArchiveCapabilities = object(() => ({}));
export const SessionStatusCapabilities = object(() => ({}));
export const SessionTitleCapabilities = object(() => ({}));
export const AuthStatusCapabilities = object(() => ({}));
export const ProvidersCapabilities = object(() => ({}));
export const SubagentCapabilities = object(() => ({}));
export const PlanCapabilities = object(() => ({}));

export const McpCapabilities = object(() => ({
  ...handshake.McpCapabilities.entries,
  acp: defaulted(v.boolean(), () => false),
}));

export const SessionCapabilities = object(() => ({
  ...handshake.SessionCapabilities.entries,
  systemPrompt: maybe(SessionSystemPromptCapabilities),
  fork: maybe(SessionForkCapabilities),
  archive: maybe(SessionArchiveCapabilities),
  status: maybe(SessionStatusCapabilities),
  title: maybe(SessionTitleCapabilities),
}));

export const AgentAuthCapabilities = object(() => ({
  ...handshake.AgentAuthCapabilities.entries,
  status: maybe(AuthStatusCapabilities),
}));

export const AgentCapabilities = object(() => ({
  ...handshake.AgentCapabilities.entries,
  mcpCapabilities: defaulted(McpCapabilities, () => ({})),
  sessionCapabilities: defaulted(SessionCapabilities, () => ({})),
  auth: defaulted(AgentAuthCapabilities, () => ({})),
  providers: maybe(ProvidersCapabilities),
}));

export const ClientCapabilities = object(() => ({
  ...handshake.ClientCapabilities.entries,
  subagents: maybe(SubagentCapabilities),
  plan: maybe(PlanCapabilities),
}));

// The handshake with unstable capabilities.

export const InitializeRequest = object(() => ({
  ...handshake.InitializeRequest.entries,
  clientCapabilities: defaulted(ClientCapabilities, () => ({})),
}));

export const InitializeResponse = object(() => ({
  ...handshake.InitializeResponse.entries,
  agentCapabilities: defaulted(AgentCapabilities, () => ({})),
}));

// MCP messages inside ACP, for servers that run in the client.

export const McpServerAcpId = v.string();
export const McpRequestId = v.string();

/** A server that the client runs itself and for which it answers `mcp/message`. */
export const McpServerAcp = object(() => ({ name: v.string(), serverId: McpServerAcpId }));
export type McpServerAcp = v.InferOutput<typeof McpServerAcp>;

export const McpServer = v.union([
  tagged("type", "http", McpServerHttp),
  tagged("type", "sse", McpServerSse),
  tagged("type", "acp", McpServerAcp),
  McpServerStdio,
]);
export type McpServer = v.InferOutput<typeof McpServer>;

const envelope = () => ({
  serverId: McpServerAcpId,
  requestId: McpRequestId,
  method: v.string(),
  params: v.nullish(json()),
});

export const MessageMcpRequest = object(envelope);
export const MessageMcpNotification = object(envelope);

export const McpError = open(() => ({ code: ErrorCode, message: v.string(), data: v.optional(v.unknown()) }));
export type McpError = v.InferOutput<typeof McpError>;

export const MessageMcpResponse = v.union([
  object(() => ({ result: v.unknown() })),
  object(() => ({ error: McpError })),
]);

// The model providers of an agent.

export const ProviderId = v.string();

export const LlmProtocol = openEnum(["anthropic", "openai", "azure", "vertex", "bedrock"]);
export type LlmProtocol = v.InferOutput<typeof LlmProtocol>;

export const ProviderCurrentConfig = object(() => ({ apiType: LlmProtocol, baseUrl: v.string() }));
export type ProviderCurrentConfig = v.InferOutput<typeof ProviderCurrentConfig>;

export const ProviderInfo = object(() => ({
  providerId: ProviderId,
  supported: requiredItems(LlmProtocol),
  required: v.boolean(),
  current: v.nullish(ProviderCurrentConfig),
}));
export type ProviderInfo = v.InferOutput<typeof ProviderInfo>;

export const ListProvidersRequest = object(() => ({}));
export const ListProvidersResponse = object(() => ({ providers: v.array(ProviderInfo) }));

export const SetProviderRequest = object(() => ({
  providerId: ProviderId,
  apiType: LlmProtocol,
  baseUrl: v.string(),
  headers: v.optional(record(v.string())),
}));

export const SetProviderResponse = object(() => ({}));
export const DisableProviderRequest = object(() => ({ providerId: ProviderId }));
export const DisableProviderResponse = object(() => ({}));

// The life of a session, with its unstable parts.

export const SystemPromptMode = openEnum(["append", "override"]);
export type SystemPromptMode = v.InferOutput<typeof SystemPromptMode>;

export const SystemPrompt = object(() => ({ mode: SystemPromptMode, content: v.array(ContentBlock) }));
export type SystemPrompt = v.InferOutput<typeof SystemPrompt>;

const required = () => ({ mcpServers: list(McpServer), systemPrompt: v.nullish(SystemPrompt) });
const optional = () => ({ mcpServers: v.optional(list(McpServer)), systemPrompt: v.nullish(SystemPrompt) });

export const NewSessionRequest = object(() => ({ ...session.NewSessionRequest.entries, ...required() }));
export const LoadSessionRequest = object(() => ({ ...session.LoadSessionRequest.entries, ...required() }));
export const ResumeSessionRequest = object(() => ({ ...session.ResumeSessionRequest.entries, ...optional() }));
export const ForkSessionRequest = object(() => ({ ...session.ResumeSessionRequest.entries, ...optional() }));
export const ForkSessionResponse = object(() => session.NewSessionResponse.entries);

export const SessionArchiveFilter = openEnum(["exclude", "include", "only"]);
export type SessionArchiveFilter = v.InferOutput<typeof SessionArchiveFilter>;

export const ListSessionsRequest = object(() => ({
  ...session.ListSessionsRequest.entries,
  archived: v.nullish(SessionArchiveFilter),
}));

export const SessionInfo = object(() => ({ ...session.SessionInfo.entries, archived: maybe(v.boolean()) }));
export type SessionInfo = v.InferOutput<typeof SessionInfo>;

export const ListSessionsResponse = object(() => ({
  ...session.ListSessionsResponse.entries,
  sessions: requiredItems(SessionInfo),
}));

const ref = () => ({ sessionId: SessionId });

export const ArchiveSessionRequest = object(ref);
export const ArchiveSessionResponse = object(() => ({}));
export const UnarchiveSessionRequest = object(ref);
export const UnarchiveSessionResponse = object(() => ({}));
export const SessionStatusRequest = object(ref);

export const SessionStatus = openEnum(["open", "saved"]);
export type SessionStatus = v.InferOutput<typeof SessionStatus>;

export const SessionStatusResponse = object(() => ({ status: SessionStatus }));
export const SetSessionTitleRequest = object(() => ({ sessionId: SessionId, title: v.string() }));
export const SetSessionTitleResponse = object(() => ({ title: v.string() }));

// The end of a turn with its usage.

export const PromptResponse = object(() => ({ ...session.PromptResponse.entries, usage: maybe(Usage) }));

// `session/update` with its unstable kinds.

export const PlanId = v.string();

/** A plan with an id, of which a session may have several. */
export const PlanItems = object(() => ({ planId: PlanId, entries: Plan.entries.entries }));
export type PlanItems = v.InferOutput<typeof PlanItems>;

export const PlanFile = object(() => ({ planId: PlanId, uri: v.string() }));
export type PlanFile = v.InferOutput<typeof PlanFile>;

export const PlanMarkdown = object(() => ({ planId: PlanId, content: v.string() }));
export type PlanMarkdown = v.InferOutput<typeof PlanMarkdown>;

export const PlanUpdateContent = variant("type", () => ({ items: PlanItems, file: PlanFile, markdown: PlanMarkdown }));
export type PlanUpdateContent = v.InferOutput<typeof PlanUpdateContent>;

export const PlanUpdate = object(() => ({ plan: PlanUpdateContent }));
export type PlanUpdate = v.InferOutput<typeof PlanUpdate>;

export const PlanRemoved = object(() => ({ planId: PlanId }));
export type PlanRemoved = v.InferOutput<typeof PlanRemoved>;

/** The payload of each update kind. */
export const updates = {
  ...stableUpdates,
  plan_update: PlanUpdate,
  plan_removed: PlanRemoved,
  subagent_update: SubagentUpdate,
  session_message: SessionMessage,
  session_message_chunk: SessionMessageChunk,
};

export const SessionUpdate = variant("sessionUpdate", () => updates);
export type SessionUpdate = v.InferOutput<typeof SessionUpdate>;

export const SessionNotification = object(() => ({ sessionId: SessionId, update: SessionUpdate }));

// Proxies, which are programs between a client and an agent.

export const InitializeProxyRequest = InitializeRequest;
export const InitializeProxyResponse = InitializeResponse;

const forwarded = () => ({ method: v.string(), params: v.optional(v.unknown()) });

/** A request for the next program in the chain. */
export const ProxySuccessorRequest = object(forwarded);
export const ProxySuccessorResponse = v.unknown();
export const ProxySuccessorNotification = object(forwarded);

// The methods of ACP v1 with the unstable ones, by the side that answers them.

const SESSIONS = "agentCapabilities.sessionCapabilities";

export const agentMethods = {
  ...stable.agentMethods,
  ...methodsOf("agent", {
    initialize: [InitializeRequest, InitializeResponse],
    "auth/status": [AuthStatusRequest, AuthStatusResponse, "agentCapabilities.auth.status"],
    "providers/list": [ListProvidersRequest, ListProvidersResponse, "agentCapabilities.providers"],
    "providers/set": [SetProviderRequest, SetProviderResponse, "agentCapabilities.providers"],
    "providers/disable": [DisableProviderRequest, DisableProviderResponse, "agentCapabilities.providers"],
    "session/new": [NewSessionRequest, session.NewSessionResponse],
    "session/load": [LoadSessionRequest, session.LoadSessionResponse, "agentCapabilities.loadSession"],
    "session/resume": [ResumeSessionRequest, session.ResumeSessionResponse, `${SESSIONS}.resume`],
    "session/list": [ListSessionsRequest, ListSessionsResponse, `${SESSIONS}.list`],
    "session/fork": [ForkSessionRequest, ForkSessionResponse, `${SESSIONS}.fork`],
    "session/archive": [ArchiveSessionRequest, ArchiveSessionResponse, `${SESSIONS}.archive`],
    "session/unarchive": [UnarchiveSessionRequest, UnarchiveSessionResponse, `${SESSIONS}.archive`],
    "session/status": [SessionStatusRequest, SessionStatusResponse, `${SESSIONS}.status`],
    "session/set_title": [SetSessionTitleRequest, SetSessionTitleResponse, `${SESSIONS}.title`],
    "session/prompt": [session.PromptRequest, PromptResponse],
    "mcp/message": [MessageMcpNotification, null, "agentCapabilities.mcpCapabilities.acp"],
  }),
};

export const clientMethods = {
  ...stable.clientMethods,
  ...methodsOf("client", {
    "session/update": [SessionNotification, null],
    "mcp/message": [MessageMcpRequest, MessageMcpResponse, "agentCapabilities.mcpCapabilities.acp"],
    "auth/status_update": [AuthStatusUpdateNotification, null, "agentCapabilities.auth.status"],
  }),
};

/** The methods that a proxy answers. `proxy/successor` may also be a notification with the same params. */
export const proxyMethods = methodsOf("proxy", {
  "proxy/initialize": [InitializeProxyRequest, InitializeProxyResponse],
  "proxy/successor": [ProxySuccessorRequest, ProxySuccessorResponse],
});

/** The client capability that an update kind needs. The other kinds need none. */
export const updateGates = {
  ...stable.updateGates,
  plan_update: "clientCapabilities.plan",
  plan_removed: "clientCapabilities.plan",
  subagent_update: "clientCapabilities.subagents",
  session_message: "clientCapabilities.subagents",
  session_message_chunk: "clientCapabilities.subagents",
} as const;
