/** `session/update` of the native dialect. */
import * as v from "valibot";
import { json, lenient, plain, variant } from "../define/shape.js";
import { PermissionReply } from "./permission.js";

const text = v.string();
const tokens = v.pipe(v.number(), v.integer(), v.minValue(0));

export const AgentMessageChunk = plain(() => ({
  content: plain(() => ({ type: v.literal("text"), text })),
  /** The last chunk of a cancelled turn, with the partial text. */
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

/** Totals of the session so far. */
export const UsageUpdate = plain(() => ({
  input: tokens,
  output: tokens,
  cache: tokens,
  reasoning: tokens,
  total_usd: v.number(),
}));
export type UsageUpdate = v.InferOutput<typeof UsageUpdate>;

export const PermissionRequest = plain(() => ({
  requestId: text,
  tool: text,
  input: json(),
  options: v.array(PermissionReply),
  /** The digest of what is asked for, as the record has it; the answer may carry it. */
  shown: v.optional(text),
}));

/** Update kind -> what it carries. */
export const updates = {
  agent_message_chunk: AgentMessageChunk,
  tool_call: ToolCall,
  tool_result: ToolResult,
  usage_update: UsageUpdate,
  permission_request: PermissionRequest,
};

export const SessionUpdate = variant("sessionUpdate", () => updates);
export type SessionUpdate = v.InferOutput<typeof SessionUpdate>;

/** `eventId` counts this dialect's updates of a session from 1, without gaps. */
export const SessionNotification = plain(() => ({
  sessionId: text,
  eventId: v.pipe(v.number(), v.integer(), v.minValue(1)),
  update: SessionUpdate,
}));
