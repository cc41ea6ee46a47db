/** The methods of ACP v1 with the unstable ones, by the side that answers them. */
import * as stable from "../acp/methods.js";
import { PromptRequest } from "../acp/prompt.js";
import { LoadSessionResponse, NewSessionResponse, ResumeSessionResponse } from "../acp/session.js";
import { methodsOf } from "../define/method.js";
import { AuthStatusRequest, AuthStatusResponse, AuthStatusUpdateNotification } from "./auth.js";
import { InitializeRequest, InitializeResponse } from "./initialize.js";
import { MessageMcpNotification, MessageMcpRequest, MessageMcpResponse } from "./mcp-message.js";
import { PromptResponse } from "./prompt.js";
import * as provider from "./provider.js";
import * as proxy from "./proxy.js";
import * as session from "./session.js";
import { SessionNotification } from "./update.js";

const SESSIONS = "agentCapabilities.sessionCapabilities";

export const agentMethods = {
  ...stable.agentMethods,
  ...methodsOf("agent", {
    initialize: [InitializeRequest, InitializeResponse],
    "auth/status": [AuthStatusRequest, AuthStatusResponse, "agentCapabilities.auth.status"],
    "providers/list": [provider.ListProvidersRequest, provider.ListProvidersResponse, "agentCapabilities.providers"],
    "providers/set": [provider.SetProviderRequest, provider.SetProviderResponse, "agentCapabilities.providers"],
    "providers/disable": [
      provider.DisableProviderRequest,
      provider.DisableProviderResponse,
      "agentCapabilities.providers",
    ],
    "session/new": [session.NewSessionRequest, NewSessionResponse],
    "session/load": [session.LoadSessionRequest, LoadSessionResponse, "agentCapabilities.loadSession"],
    "session/resume": [session.ResumeSessionRequest, ResumeSessionResponse, `${SESSIONS}.resume`],
    "session/list": [session.ListSessionsRequest, session.ListSessionsResponse, `${SESSIONS}.list`],
    "session/fork": [session.ForkSessionRequest, session.ForkSessionResponse, `${SESSIONS}.fork`],
    "session/archive": [session.ArchiveSessionRequest, session.ArchiveSessionResponse, `${SESSIONS}.archive`],
    "session/unarchive": [session.UnarchiveSessionRequest, session.UnarchiveSessionResponse, `${SESSIONS}.archive`],
    "session/status": [session.SessionStatusRequest, session.SessionStatusResponse, `${SESSIONS}.status`],
    "session/set_title": [session.SetSessionTitleRequest, session.SetSessionTitleResponse, `${SESSIONS}.title`],
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
