/** `@chimera/acp-schema/events`: the records of a session's log. Imports no dialect. */
export { createTurnEnds, describeLost, endsTurn, isLost, type Lost, lostCount, lostNotice } from "./entry.js";
export type { CallPart, Message, Part, ReasoningPart, TextPart } from "./message.js";
export { type Metadata, metadata, type RecordType } from "./metadata.js";
export {
  type AgentEvent,
  type RecordOf,
  type SessionEvent,
  type SessionRecord,
  SessionRecordSchema,
} from "./record.js";
export {
  Decision,
  EngineOption,
  FileOutcome,
  type Json,
  Location,
  PermissionChoice,
  PlanEntry,
  PromptBlock,
  ResolvedBy,
  Risk,
  Seal,
  StopReason,
  ToolContent,
  ToolKind,
} from "./value.js";
