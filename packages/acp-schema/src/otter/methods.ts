/** The methods of the native otter dialect, by the side that answers them. */
import { methodsOf } from "../define/method.js";
import { InitializeRequest, InitializeResponse } from "./initialize.js";
import * as permission from "./permission.js";
import * as session from "./session.js";
import * as turn from "./turn.js";
import { SessionNotification } from "./update.js";

/** `session/cancel` may also come without an id; it is then not answered. */
export const agentMethods = methodsOf("agent", {
  initialize: [InitializeRequest, InitializeResponse],
  "session/new": [session.NewSessionRequest, session.NewSessionResponse],
  "session/load": [session.SessionRef, session.LoadSessionResponse],
  "session/list": [session.ListSessionsRequest, session.ListSessionsResponse, "capabilities.sessionList"],
  "session/get": [session.SessionRef, session.GetSessionResponse],
  "session/message": [turn.MessageRequest, turn.MessageResponse],
  "session/turn": [turn.TurnRequest, turn.MessageResponse],
  "session/cancel": [session.SessionRef, turn.CancelResponse, "agentCapabilities.sessionCapabilities.cancel"],
  "session/setMode": [session.SetModeRequest, session.SetModeRequest],
  "session/setModel": [session.SetModelRequest, session.SetModelRequest],
  "session/fork": [session.ForkSessionRequest, session.ForkSessionResponse, "capabilities.sessionFork"],
  "session/resume": [turn.ResumeRequest, turn.ResumeResponse, "agentCapabilities.sessionCapabilities.resume"],
  "permission/respond": [
    permission.PermissionRespondRequest,
    permission.PermissionRespondResponse,
    "capabilities.permissionRequest",
  ],
  "tool/approve": [permission.ToolApproveRequest, permission.ToolApproveResponse, "agentCapabilities.toolApproval"],
});

export const clientMethods = methodsOf("client", {
  "session/update": [SessionNotification, null],
  textDelta: [turn.TextDeltaRecord, null],
  toolCall: [turn.ToolCallRecord, null],
  toolResult: [turn.ToolResultRecord, null],
  stepStart: [turn.StepStartRecord, null],
  stepEnd: [turn.StepEndRecord, null],
  turnEnd: [turn.TurnEndRecord, null],
  error: [turn.ErrorRecord, null],
});
