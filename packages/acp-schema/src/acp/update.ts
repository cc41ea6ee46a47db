/** `session/update`: everything that an agent reports about a session while it works. */
import * as v from "valibot";
import { items, maybe, object, openEnum, requiredItems, uint64, variant } from "../define/shape.js";
import { ContentBlock } from "./content.js";
import { CompactionId, MessageId, SessionId } from "./id.js";
import { ConfigOptionUpdate, CurrentModeUpdate } from "./setting.js";
import { ToolCall, ToolCallUpdate } from "./tool-call.js";

/** The command's input is all the text after its name. */
export const UnstructuredCommandInput = object(() => ({ hint: v.string() }));
export type UnstructuredCommandInput = v.InferOutput<typeof UnstructuredCommandInput>;

export const AvailableCommandInput = UnstructuredCommandInput;
export type AvailableCommandInput = v.InferOutput<typeof AvailableCommandInput>;

/** A slash command that the agent offers. */
export const AvailableCommand = object(() => ({
  name: v.string(),
  description: v.string(),
  input: maybe(AvailableCommandInput),
}));
export type AvailableCommand = v.InferOutput<typeof AvailableCommand>;

export const AvailableCommandsUpdate = object(() => ({ availableCommands: requiredItems(AvailableCommand) }));
export type AvailableCommandsUpdate = v.InferOutput<typeof AvailableCommandsUpdate>;

export const CompactionStatus = openEnum(["in_progress", "completed", "failed", "cancelled"]);
export type CompactionStatus = v.InferOutput<typeof CompactionStatus>;

/** Reports that the agent shortens a long conversation. Only for clients with `session.compaction`. */
export const CompactionUpdate = object(() => ({
  compactionId: CompactionId,
  status: CompactionStatus,
  summary: maybe(items(ContentBlock)),
  error: maybe(v.string()),
}));
export type CompactionUpdate = v.InferOutput<typeof CompactionUpdate>;

export const CompactionSummaryChunk = object(() => ({ compactionId: CompactionId, content: ContentBlock }));
export type CompactionSummaryChunk = v.InferOutput<typeof CompactionSummaryChunk>;

export const PlanEntryPriority = v.picklist(["high", "medium", "low"]);
export type PlanEntryPriority = v.InferOutput<typeof PlanEntryPriority>;

export const PlanEntryStatus = v.picklist(["pending", "in_progress", "completed"]);
export type PlanEntryStatus = v.InferOutput<typeof PlanEntryStatus>;

export const PlanEntry = object(() => ({
  content: v.string(),
  priority: PlanEntryPriority,
  status: PlanEntryStatus,
}));
export type PlanEntry = v.InferOutput<typeof PlanEntry>;

/** The agent's plan. Each update replaces the whole plan. */
export const Plan = object(() => ({ entries: requiredItems(PlanEntry) }));
export type Plan = v.InferOutput<typeof Plan>;

export const Cost = object(() => ({
  amount: v.number(),
  /** An ISO 4217 code. */
  currency: v.string(),
}));
export type Cost = v.InferOutput<typeof Cost>;

/** How full the context is, and the cost of the session. */
export const UsageUpdate = object(() => ({ used: uint64(), size: uint64(), cost: maybe(Cost) }));
export type UsageUpdate = v.InferOutput<typeof UsageUpdate>;

/** One chunk of a message. Chunks with the same `messageId` belong together. */
export const ContentChunk = object(() => ({ content: ContentBlock, messageId: maybe(MessageId) }));
export type ContentChunk = v.InferOutput<typeof ContentChunk>;

export const SessionInfoUpdate = object(() => ({ title: maybe(v.string()), updatedAt: maybe(v.string()) }));
export type SessionInfoUpdate = v.InferOutput<typeof SessionInfoUpdate>;

export const NoticeSeverity = openEnum(["info", "warning", "error"]);
export type NoticeSeverity = v.InferOutput<typeof NoticeSeverity>;

/** Only for clients with `session.notices`. */
export const Notice = object(() => ({
  severity: NoticeSeverity,
  title: v.pipe(v.string(), v.minLength(1)),
  description: maybe(v.string()),
}));
export type Notice = v.InferOutput<typeof Notice>;

/** The payload of each update kind. */
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
