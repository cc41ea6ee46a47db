/** `@chimera/acp-schema/otter`: the native dialect of otter. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { jsonRpcCodes } from "../acp/error.js";
import { methodsOf } from "../define/method.js";
import { count, ordinal, text } from "../define/scalar.js";
import { json, lenient, plain, variant } from "../define/shape.js";
import type { RecordType } from "../events/metadata.js";
import { recordEntries } from "../events/record.js";
import { StopReason } from "../events/value.js";
import { SessionDetail } from "../http/session.js";

export { strict } from "../define/mode.js";

const sessionId = v.string();

// Errors of the native dialects.

/** `invalidParams` is also the code for an unknown session (`data: {sessionId}`) and for an answered permission. */
export const errorCodes = {
  ...jsonRpcCodes,
  /** The agent failed; `data` has the error. */
  applicationError: -32000,
} as const;

/** The `data` of an application error. */
export const ApplicationErrorData = plain(() => ({ name: v.string(), message: v.string(), stack: v.string() }));
export type ApplicationErrorData = v.InferOutput<typeof ApplicationErrorData>;

// The handshake of the native dialect.

/** The revision with event ids and `session/resume`, and the version in the answer to a client that asks for it. */
export const OTTER_ACP_PROTOCOL_VERSION = 2;

/** The version in the answer to a client that does not ask for a revision. */
export const OTTER_PROTOCOL_VERSION = "0.1";

/** How many updates of a session `session/resume` can go back. */
export const OTTER_ACP_DEFAULT_HISTORY_SIZE = 1024;

/** Every version is accepted. It only decides the version in the answer. */
export const InitializeRequest = plain(() => ({ protocolVersion: v.optional(v.unknown()) }));

export const ServerInfo = plain(() => ({ name: v.string(), version: v.string() }));
export type ServerInfo = v.InferOutput<typeof ServerInfo>;

export const Capabilities = plain(() => ({
  sessionFork: v.boolean(),
  sessionList: v.boolean(),
  permissionRequest: v.boolean(),
  thinking: v.boolean(),
  vision: v.boolean(),
}));

export const AgentCapabilities = plain(() => ({
  promptCapabilities: plain(() => ({ text: v.boolean() })),
  sessionCapabilities: plain(() => ({ cancel: v.boolean(), resume: v.boolean() })),
  toolApproval: v.boolean(),
  eventIds: v.boolean(),
}));

/** The answer has both documented capability blocks, for clients written against either document. */
export const InitializeResponse = plain(() => ({
  protocolVersion: v.union([v.pipe(v.string(), v.regex(/^0\.\d+$/)), v.literal(OTTER_ACP_PROTOCOL_VERSION)]),
  serverInfo: ServerInfo,
  agentInfo: ServerInfo,
  capabilities: Capabilities,
  agentCapabilities: AgentCapabilities,
}));

// Sessions in the native dialect.

export const SessionState = v.picklist(["idle", "running", "cancelled"]);
export type SessionState = v.InferOutput<typeof SessionState>;

/** Params with only a session's id. */
export const SessionRef = plain(() => ({ sessionId }));
export type SessionRef = v.InferOutput<typeof SessionRef>;

/** `working_dir` is another name for `cwd`. `mode` names an agent. */
export const NewSessionRequest = plain(() => ({
  cwd: v.optional(text),
  working_dir: v.optional(text),
  model: v.optional(text),
  mode: v.optional(text),
}));

export const NewSessionResponse = plain(() => ({ sessionId, cwd: text }));

/** A load replays nothing; `session/resume` does. */
export const LoadSessionResponse = plain(() => ({
  sessionId,
  cwd: text,
  agent: text,
  model: text,
  state: SessionState,
  lastEventId: count,
}));

export const ListSessionsRequest = plain(() => ({}));

export const ListedSession = plain(() => ({
  sessionId,
  cwd: text,
  title: v.nullable(text),
  updatedAt: text,
  model: v.nullable(text),
  state: v.nullable(SessionState),
}));
export type ListedSession = v.InferOutput<typeof ListedSession>;

export const ListSessionsResponse = plain(() => ({ sessions: v.array(ListedSession) }));

/** The body of `GET /sessions/{id}` in one frame. Of a log that is too long it has the newest events, and `truncated` is true. */
export const GetSessionResponse = plain(() => ({ sessionId, ...SessionDetail.entries, truncated: v.boolean() }));

/** `mode` names an agent: build, plan, explore, review, general or one from a file. The answer has the new value. */
export const SetModeRequest = plain(() => ({ sessionId, mode: text }));
export const SetModelRequest = plain(() => ({ sessionId, model: text }));

/** Copies a session up to the end of `turn`, counted from 0, by default the last turn. */
export const ForkSessionRequest = plain(() => ({
  sessionId,
  turn: v.optional(count),
}));

export const ForkSessionResponse = plain(() => ({ sessionId, parentId: text }));

// Turns in the native dialect, and their replay after a disconnect.

/** One of `message`, `text` and `content` is required. `content` is a string, a block or a list of blocks. */
export const MessageRequest = v.union(
  [
    plain(() => ({ sessionId, message: v.string() })),
    plain(() => ({ sessionId, text: v.string() })),
    plain(() => ({ sessionId, content: v.union([v.string(), ContentBlock, v.array(ContentBlock)]) })),
  ],
  "sessionId and one of message, text or content are required",
);
export type MessageRequest = v.InferOutput<typeof MessageRequest>;

/** `stopReason` is `error` when the agent failed; `error` then has the message. */
export const MessageResponse = plain(() => ({
  sessionId,
  stopReason: StopReason,
  output: v.string(),
  error: v.optional(v.string()),
}));

/** From now on this connection gets camelCase notifications for the session. */
export const TurnRequest = plain(() => ({ sessionId, prompt: v.string() }));
export const CancelResponse = plain(() => ({ sessionId, cancelled: v.boolean() }));

/** A cursor that is absent, negative or not an integer replays all kept updates. */
export const ResumeRequest = plain(() => ({ sessionId, sinceEventId: v.fallback(v.optional(count, 0), 0) }));

/** `truncated` says that some updates after the cursor are no longer kept. */
export const ResumeResponse = plain(() => ({
  sessionId,
  replayed: count,
  lastEventId: count,
  truncated: v.boolean(),
}));

/** The notifications that a client of `session/turn` gets instead of `session/update`, with the record type of each. */
export const turnNotifications = {
  textDelta: "text_delta",
  toolCall: "tool_call",
  toolResult: "tool_result",
  stepStart: "step_start",
  stepEnd: "step_end",
  turnEnd: "turn_end",
  error: "error",
} as const satisfies Record<string, RecordType>;

// @__NO_SIDE_EFFECTS__
const carrying = <T extends RecordType>(type: T) => plain(() => ({ sessionId: v.string(), ...recordEntries(type) }));

export const TextDeltaRecord = carrying("text_delta");
export const ToolCallRecord = carrying("tool_call");
export const ToolResultRecord = carrying("tool_result");
export const StepStartRecord = carrying("step_start");
export const StepEndRecord = carrying("step_end");
export const TurnEndRecord = carrying("turn_end");
export const ErrorRecord = carrying("error");

// Answering a `permission_request` update.

export const PermissionReply = v.picklist(["allow", "deny", "always"]);

export const PermissionRespondRequest = plain(() => ({
  requestId: v.string(),
  reply: PermissionReply,
  /** The digest of the shown content. A wrong digest is refused. */
  shown: v.optional(v.string()),
  /** The answer to a question of the agent: the name of an option or any text. */
  answer: v.optional(v.string()),
}));

export const PermissionRespondResponse = plain(() => ({ ok: v.literal(true) }));

/** The older form. Every decision other than `approve` denies. `permission_id` and `reply` are alternative names. */
export const ToolApproveRequest = v.union(
  [
    plain(() => ({ sessionId: v.string(), permissionId: v.string(), decision: v.string() })),
    plain(() => ({ sessionId: v.string(), permissionId: v.string(), reply: v.string() })),
    plain(() => ({ sessionId: v.string(), permission_id: v.string(), decision: v.string() })),
    plain(() => ({ sessionId: v.string(), permission_id: v.string(), reply: v.string() })),
  ],
  "sessionId, permissionId and decision are required",
);

export const ToolApproveResponse = plain(() => ({
  sessionId: v.string(),
  permissionId: v.string(),
  applied: v.boolean(),
}));

// `session/update` of the native dialect.

export const AgentMessageChunk = plain(() => ({
  content: plain(() => ({ type: v.literal("text"), text })),
  /** True in the last chunk of a cancelled turn, which has the partial text. */
  cancelled: lenient(v.literal(true)),
}));
export type AgentMessageChunk = v.InferOutput<typeof AgentMessageChunk>;

export const ToolCall = plain(() => ({ callId: text, tool: text, input: json() }));
export type ToolCall = v.InferOutput<typeof ToolCall>;

export const ToolResult = plain(() => ({
  callId: text,
  success: v.boolean(),
  output: text,
  error: v.optional(v.nullable(text)),
}));
export type ToolResult = v.InferOutput<typeof ToolResult>;

/** The totals of the session so far. */
export const UsageUpdate = plain(() => ({
  input: count,
  output: count,
  cache: count,
  reasoning: count,
  total_usd: v.number(),
}));
export type UsageUpdate = v.InferOutput<typeof UsageUpdate>;

export const PermissionRequest = plain(() => ({
  requestId: text,
  tool: text,
  input: json(),
  options: v.array(PermissionReply),
  /** The digest of the content, from the record. The answer may carry it. */
  shown: v.optional(text),
}));

/** The payload of each update kind. */
export const updates = {
  agent_message_chunk: AgentMessageChunk,
  tool_call: ToolCall,
  tool_result: ToolResult,
  usage_update: UsageUpdate,
  permission_request: PermissionRequest,
};

export const SessionUpdate = variant("sessionUpdate", () => updates);
export type SessionUpdate = v.InferOutput<typeof SessionUpdate>;

/** `eventId` counts this dialect's updates of a session from 1 without gaps. */
export const SessionNotification = plain(() => ({
  sessionId: text,
  eventId: ordinal,
  update: SessionUpdate,
}));

// The methods of the native otter dialect, by the side that answers them.

/** `session/cancel` may also be a notification, which gets no answer. */
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
