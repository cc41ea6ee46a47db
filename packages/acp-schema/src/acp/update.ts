/** `session/update`: everything an agent tells about a session while it works. */
import * as v from "valibot";
import { maybe, object, openEnum, variant } from "../define/shape.js";
import { AvailableCommandsUpdate } from "./command.js";
import { CompactionSummaryChunk, CompactionUpdate } from "./compaction.js";
import { ConfigOptionUpdate } from "./config-option.js";
import { ContentBlock } from "./content.js";
import { MessageId, SessionId } from "./id.js";
import { CurrentModeUpdate } from "./mode.js";
import { Plan } from "./plan.js";
import { ToolCall, ToolCallUpdate } from "./tool-call.js";
import { UsageUpdate } from "./usage.js";

/** One piece of a message; pieces with the same `messageId` belong together. */
export const ContentChunk = object(() => ({ content: ContentBlock, messageId: maybe(MessageId) }));
export type ContentChunk = v.InferOutput<typeof ContentChunk>;

export const SessionInfoUpdate = object(() => ({ title: maybe(v.string()), updatedAt: maybe(v.string()) }));
export type SessionInfoUpdate = v.InferOutput<typeof SessionInfoUpdate>;

export const NoticeSeverity = openEnum(["info", "warning", "error"]);
export type NoticeSeverity = v.InferOutput<typeof NoticeSeverity>;

/** Only for clients that say `session.notices`. */
export const Notice = object(() => ({
  severity: NoticeSeverity,
  title: v.pipe(v.string(), v.minLength(1)),
  description: maybe(v.string()),
}));
export type Notice = v.InferOutput<typeof Notice>;

/** Update kind -> what it carries. */
export const updates = {
  user_message_chunk: ContentChunk,
  agent_message_chunk: ContentChunk,
  agent_thought_chunk: ContentChunk,
  tool_call: ToolCall,
  tool_call_update: ToolCallUpdate,
  plan: Plan,
  available_commands_update: AvailableCommandsUpdate,
  current_mode_update: CurrentModeUpdate,
  config_option_update: ConfigOptionUpdate,
  session_info_update: SessionInfoUpdate,
  usage_update: UsageUpdate,
  notice: Notice,
  compaction_update: CompactionUpdate,
  compaction_summary_chunk: CompactionSummaryChunk,
};

export const SessionUpdate = variant("sessionUpdate", () => updates);
export type SessionUpdate = v.InferOutput<typeof SessionUpdate>;

export const SessionNotification = object(() => ({ sessionId: SessionId, update: SessionUpdate }));
export type SessionNotification = v.InferOutput<typeof SessionNotification>;
