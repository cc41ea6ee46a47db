/** The methods of the native otter dialect, by the side that answers them. */
import { methodsOf } from "../define/method.js";
import { InitializeRequest, InitializeResponse } from "./initialize.js";
import {
  PermissionRespondRequest,
  PermissionRespondResponse,
  ToolApproveRequest,
  ToolApproveResponse,
} from "./permission.js";
import {
  ForkSessionRequest,
  ForkSessionResponse,
  GetSessionResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  LoadSessionResponse,
  NewSessionRequest,
  NewSessionResponse,
  SessionRef,
  SetModelRequest,
  SetModeRequest,
} from "./session.js";
import {
  CancelResponse,
  ErrorRecord,
  MessageRequest,
  MessageResponse,
  ResumeRequest,
  ResumeResponse,
  StepEndRecord,
  StepStartRecord,
  TextDeltaRecord,
  ToolCallRecord,
  ToolResultRecord,
  TurnEndRecord,
  TurnRequest,
} from "./turn.js";
import { SessionNotification } from "./update.js";

/** `session/cancel` may also come without an id; it is then not answered. */
export const agentMethods = methodsOf("agent", {
  initialize: [InitializeRequest, InitializeResponse],
  "session/new": [NewSessionRequest, NewSessionResponse],
  "session/load": [SessionRef, LoadSessionResponse],
  "session/list": [ListSessionsRequest, ListSessionsResponse, "capabilities.sessionList"],
  "session/get": [SessionRef, GetSessionResponse],
  "session/message": [MessageRequest, MessageResponse],
  "session/turn": [TurnRequest, MessageResponse],
  "session/cancel": [SessionRef, CancelResponse, "agentCapabilities.sessionCapabilities.cancel"],
  "session/setMode": [SetModeRequest, SetModeRequest],
  "session/setModel": [SetModelRequest, SetModelRequest],
  "session/fork": [ForkSessionRequest, ForkSessionResponse, "capabilities.sessionFork"],
  "session/resume": [ResumeRequest, ResumeResponse, "agentCapabilities.sessionCapabilities.resume"],
  "permission/respond": [PermissionRespondRequest, PermissionRespondResponse, "capabilities.permissionRequest"],
  "tool/approve": [ToolApproveRequest, ToolApproveResponse, "agentCapabilities.toolApproval"],
});

export const clientMethods = methodsOf("client", {
  "session/update": [SessionNotification, null],
  textDelta: [TextDeltaRecord, null],
  toolCall: [ToolCallRecord, null],
  toolResult: [ToolResultRecord, null],
  stepStart: [StepStartRecord, null],
  stepEnd: [StepEndRecord, null],
  turnEnd: [TurnEndRecord, null],
  error: [ErrorRecord, null],
});
