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
import * as session from "./session.js";
import * as terminal from "./terminal.js";
import { SessionNotification } from "./update.js";

const SESSIONS = "agentCapabilities.sessionCapabilities";
const TERMINAL = "clientCapabilities.terminal";

export const agentMethods = methodsOf("agent", {
  initialize: [InitializeRequest, InitializeResponse],
  authenticate: [AuthenticateRequest, AuthenticateResponse, "authMethods"],
  logout: [LogoutRequest, LogoutResponse, "agentCapabilities.auth.logout"],
  "session/new": [session.NewSessionRequest, session.NewSessionResponse],
  "session/load": [session.LoadSessionRequest, session.LoadSessionResponse, "agentCapabilities.loadSession"],
  "session/resume": [session.ResumeSessionRequest, session.ResumeSessionResponse, `${SESSIONS}.resume`],
  "session/list": [session.ListSessionsRequest, session.ListSessionsResponse, `${SESSIONS}.list`],
  "session/delete": [session.DeleteSessionRequest, session.DeleteSessionResponse, `${SESSIONS}.delete`],
  "session/close": [session.CloseSessionRequest, session.CloseSessionResponse, `${SESSIONS}.close`],
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
  "terminal/create": [terminal.CreateTerminalRequest, terminal.CreateTerminalResponse, TERMINAL],
  "terminal/output": [terminal.TerminalOutputRequest, terminal.TerminalOutputResponse, TERMINAL],
  "terminal/wait_for_exit": [terminal.WaitForTerminalExitRequest, terminal.WaitForTerminalExitResponse, TERMINAL],
  "terminal/kill": [terminal.KillTerminalRequest, terminal.KillTerminalResponse, TERMINAL],
  "terminal/release": [terminal.ReleaseTerminalRequest, terminal.ReleaseTerminalResponse, TERMINAL],
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
