/** The stable methods of ACP v1, by the side that answers them. */
import { methodsOf } from "../define/method.js";
import * as client from "./client.js";
import { CompleteElicitationNotification, CreateElicitationRequest, CreateElicitationResponse } from "./elicitation.js";
import * as handshake from "./initialize.js";
import * as session from "./session.js";
import * as setting from "./setting.js";
import { RequestPermissionRequest, RequestPermissionResponse } from "./tool-call.js";
import { SessionNotification } from "./update.js";

const FILES = "clientCapabilities.fs";
const SESSIONS = "agentCapabilities.sessionCapabilities";
const TERMINAL = "clientCapabilities.terminal";

export const agentMethods = methodsOf("agent", {
  initialize: [handshake.InitializeRequest, handshake.InitializeResponse],
  authenticate: [handshake.AuthenticateRequest, handshake.AuthenticateResponse, "authMethods"],
  logout: [handshake.LogoutRequest, handshake.LogoutResponse, "agentCapabilities.auth.logout"],
  "session/new": [session.NewSessionRequest, session.NewSessionResponse],
  "session/load": [session.LoadSessionRequest, session.LoadSessionResponse, "agentCapabilities.loadSession"],
  "session/resume": [session.ResumeSessionRequest, session.ResumeSessionResponse, `${SESSIONS}.resume`],
  "session/list": [session.ListSessionsRequest, session.ListSessionsResponse, `${SESSIONS}.list`],
  "session/delete": [session.DeleteSessionRequest, session.DeleteSessionResponse, `${SESSIONS}.delete`],
  "session/close": [session.CloseSessionRequest, session.CloseSessionResponse, `${SESSIONS}.close`],
  "session/prompt": [session.PromptRequest, session.PromptResponse],
  "session/set_mode": [setting.SetSessionModeRequest, setting.SetSessionModeResponse],
  "session/set_config_option": [setting.SetSessionConfigOptionRequest, setting.SetSessionConfigOptionResponse],
  "session/cancel": [session.CancelNotification, null],
});

export const clientMethods = methodsOf("client", {
  "session/update": [SessionNotification, null],
  "session/request_permission": [RequestPermissionRequest, RequestPermissionResponse],
  "fs/read_text_file": [client.ReadTextFileRequest, client.ReadTextFileResponse, `${FILES}.readTextFile`],
  "fs/write_text_file": [client.WriteTextFileRequest, client.WriteTextFileResponse, `${FILES}.writeTextFile`],
  "terminal/create": [client.CreateTerminalRequest, client.CreateTerminalResponse, TERMINAL],
  "terminal/output": [client.TerminalOutputRequest, client.TerminalOutputResponse, TERMINAL],
  "terminal/wait_for_exit": [client.WaitForTerminalExitRequest, client.WaitForTerminalExitResponse, TERMINAL],
  "terminal/kill": [client.KillTerminalRequest, client.KillTerminalResponse, TERMINAL],
  "terminal/release": [client.ReleaseTerminalRequest, client.ReleaseTerminalResponse, TERMINAL],
  "elicitation/create": [CreateElicitationRequest, CreateElicitationResponse, "clientCapabilities.elicitation"],
  "elicitation/complete": [CompleteElicitationNotification, null, "clientCapabilities.elicitation.url"],
});

/** The methods that either side may send. */
export const protocolMethods = methodsOf("protocol", {
  "$/cancel_request": [session.CancelRequestNotification, null],
});

/** The client capability that an update kind needs. The other kinds need none. */
export const updateGates = {
  notice: "clientCapabilities.session.notices",
  compaction_update: "clientCapabilities.session.compaction",
  compaction_summary_chunk: "clientCapabilities.session.compaction",
} as const;
