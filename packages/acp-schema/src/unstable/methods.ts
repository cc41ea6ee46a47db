/** The methods of ACP v1 with the unstable ones, by the side that answers them. */
import * as stable from "../acp/methods.js";
import { PromptRequest } from "../acp/prompt.js";
import { LoadSessionResponse, NewSessionResponse, ResumeSessionResponse } from "../acp/session.js";
import { methodsOf } from "../define/method.js";
import { AuthStatusRequest, AuthStatusResponse, AuthStatusUpdateNotification } from "./auth.js";
import { InitializeRequest, InitializeResponse } from "./initialize.js";
import { MessageMcpNotification, MessageMcpRequest, MessageMcpResponse } from "./mcp-message.js";
import { PromptResponse } from "./prompt.js";
import {
  DisableProviderRequest,
  DisableProviderResponse,
  ListProvidersRequest,
  ListProvidersResponse,
  SetProviderRequest,
  SetProviderResponse,
} from "./provider.js";
import * as proxy from "./proxy.js";
import {
  ArchiveSessionRequest,
  ArchiveSessionResponse,
  ForkSessionRequest,
  ForkSessionResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionRequest,
  NewSessionRequest,
  ResumeSessionRequest,
  SessionStatusRequest,
  SessionStatusResponse,
  SetSessionTitleRequest,
  SetSessionTitleResponse,
  UnarchiveSessionRequest,
  UnarchiveSessionResponse,
} from "./session.js";
import { SessionNotification } from "./update.js";

export const agentMethods = {
  ...stable.agentMethods,
  ...methodsOf("agent", {
    initialize: [InitializeRequest, InitializeResponse],
    "auth/status": [AuthStatusRequest, AuthStatusResponse, "agentCapabilities.auth.status"],
    "providers/list": [ListProvidersRequest, ListProvidersResponse, "agentCapabilities.providers"],
    "providers/set": [SetProviderRequest, SetProviderResponse, "agentCapabilities.providers"],
    "providers/disable": [DisableProviderRequest, DisableProviderResponse, "agentCapabilities.providers"],
    "session/new": [NewSessionRequest, NewSessionResponse],
    "session/load": [LoadSessionRequest, LoadSessionResponse, "agentCapabilities.loadSession"],
    "session/resume": [ResumeSessionRequest, ResumeSessionResponse, "agentCapabilities.sessionCapabilities.resume"],
    "session/list": [ListSessionsRequest, ListSessionsResponse, "agentCapabilities.sessionCapabilities.list"],
    "session/fork": [ForkSessionRequest, ForkSessionResponse, "agentCapabilities.sessionCapabilities.fork"],
    "session/archive": [ArchiveSessionRequest, ArchiveSessionResponse, "agentCapabilities.sessionCapabilities.archive"],
    "session/unarchive": [
      UnarchiveSessionRequest,
      UnarchiveSessionResponse,
      "agentCapabilities.sessionCapabilities.archive",
    ],
    "session/status": [SessionStatusRequest, SessionStatusResponse, "agentCapabilities.sessionCapabilities.status"],
    "session/set_title": [
      SetSessionTitleRequest,
      SetSessionTitleResponse,
      "agentCapabilities.sessionCapabilities.title",
    ],
    "session/prompt": [PromptRequest, PromptResponse],
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

/** What a proxy answers. `proxy/successor` also comes as a notification, with the same params. */
export const proxyMethods = methodsOf("proxy", {
  "proxy/initialize": [proxy.InitializeProxyRequest, proxy.InitializeProxyResponse],
  "proxy/successor": [proxy.ProxySuccessorRequest, proxy.ProxySuccessorResponse],
});

/** Update kinds that a client must have asked for; the others need nothing. */
export const updateGates = {
  ...stable.updateGates,
  plan_update: "clientCapabilities.plan",
  plan_removed: "clientCapabilities.plan",
  subagent_update: "clientCapabilities.subagents",
  session_message: "clientCapabilities.subagents",
  session_message_chunk: "clientCapabilities.subagents",
} as const;
