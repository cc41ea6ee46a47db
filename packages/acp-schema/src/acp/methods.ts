/** The stable methods of ACP v1, by the side that answers them. */

import { methodsOf } from "../define/method.js";
import { AuthenticateRequest, AuthenticateResponse, LogoutRequest, LogoutResponse } from "./auth.js";
import { SetSessionConfigOptionRequest, SetSessionConfigOptionResponse } from "./config-option.js";
import { CompleteElicitationNotification, CreateElicitationRequest, CreateElicitationResponse } from "./elicitation.js";
import { ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse } from "./fs.js";
import { InitializeRequest, InitializeResponse } from "./initialize.js";
import { SetSessionModeRequest, SetSessionModeResponse } from "./mode.js";
import { RequestPermissionRequest, RequestPermissionResponse } from "./permission.js";
import { CancelNotification, CancelRequestNotification, PromptRequest, PromptResponse } from "./prompt.js";
import {
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
} from "./session.js";
import {
  CreateTerminalRequest,
  CreateTerminalResponse,
  KillTerminalRequest,
  KillTerminalResponse,
  ReleaseTerminalRequest,
  ReleaseTerminalResponse,
  TerminalOutputRequest,
  TerminalOutputResponse,
  WaitForTerminalExitRequest,
  WaitForTerminalExitResponse,
} from "./terminal.js";
import { SessionNotification } from "./update.js";

export const agentMethods = methodsOf("agent", {
  initialize: [InitializeRequest, InitializeResponse],
  authenticate: [AuthenticateRequest, AuthenticateResponse, "authMethods"],
  logout: [LogoutRequest, LogoutResponse, "agentCapabilities.auth.logout"],
  "session/new": [NewSessionRequest, NewSessionResponse],
  "session/load": [LoadSessionRequest, LoadSessionResponse, "agentCapabilities.loadSession"],
  "session/resume": [ResumeSessionRequest, ResumeSessionResponse, "agentCapabilities.sessionCapabilities.resume"],
  "session/list": [ListSessionsRequest, ListSessionsResponse, "agentCapabilities.sessionCapabilities.list"],
  "session/delete": [DeleteSessionRequest, DeleteSessionResponse, "agentCapabilities.sessionCapabilities.delete"],
  "session/close": [CloseSessionRequest, CloseSessionResponse, "agentCapabilities.sessionCapabilities.close"],
  "session/prompt": [PromptRequest, PromptResponse],
  "session/set_mode": [SetSessionModeRequest, SetSessionModeResponse],
  "session/set_config_option": [SetSessionConfigOptionRequest, SetSessionConfigOptionResponse],
  "session/cancel": [CancelNotification, null],
});

export const clientMethods = methodsOf("client", {
  "session/update": [SessionNotification, null],
  "session/request_permission": [RequestPermissionRequest, RequestPermissionResponse],
  "fs/read_text_file": [ReadTextFileRequest, ReadTextFileResponse, "clientCapabilities.fs.readTextFile"],
  "fs/write_text_file": [WriteTextFileRequest, WriteTextFileResponse, "clientCapabilities.fs.writeTextFile"],
  "terminal/create": [CreateTerminalRequest, CreateTerminalResponse, "clientCapabilities.terminal"],
  "terminal/output": [TerminalOutputRequest, TerminalOutputResponse, "clientCapabilities.terminal"],
  "terminal/wait_for_exit": [WaitForTerminalExitRequest, WaitForTerminalExitResponse, "clientCapabilities.terminal"],
  "terminal/kill": [KillTerminalRequest, KillTerminalResponse, "clientCapabilities.terminal"],
  "terminal/release": [ReleaseTerminalRequest, ReleaseTerminalResponse, "clientCapabilities.terminal"],
  "elicitation/create": [CreateElicitationRequest, CreateElicitationResponse, "clientCapabilities.elicitation"],
  "elicitation/complete": [CompleteElicitationNotification, null, "clientCapabilities.elicitation.url"],
});

/** What either side may send. */
export const protocolMethods = methodsOf("protocol", {
  "$/cancel_request": [CancelRequestNotification, null],
});

/** Update kinds that a client must have asked for; the others need nothing. */
export const updateGates = {
  notice: "clientCapabilities.session.notices",
  compaction_update: "clientCapabilities.session.compaction",
  compaction_summary_chunk: "clientCapabilities.session.compaction",
} as const;
