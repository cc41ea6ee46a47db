/** `@chimera/acp-schema/events`: the records of a session's log. Imports no dialect. */
export type { Message, ToolUse } from "./message.js";
export {
  Decision,
  FileOutcome,
  Location,
  type Metadata,
  metadata,
  PlanEntry,
  PromptBlock,
  type RecordType,
  ResolvedBy,
  Risk,
  StopReason,
  ToolContent,
  ToolKind,
} from "./metadata.js";
export {
  type AgentEvent,
  endsTurn,
  type RecordOf,
  type SessionEvent,
  type SessionRecord,
  SessionRecordSchema,
} from "./record.js";
