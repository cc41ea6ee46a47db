/** The shapes in records, some of which HTTP uses unchanged. They are apart from the table, so that a page loads only those it uses. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import { toolKinds } from "../define/tool-kinds.js";

export const json = v.record(v.string(), v.unknown());

export const ToolKind = v.picklist(toolKinds);
export type ToolKind = v.InferOutput<typeof ToolKind>;

export const Risk = v.picklist(["low", "medium", "high", "critical"]);
export type Risk = v.InferOutput<typeof Risk>;

export const Location = v.object({ path: text, line: v.optional(count) });
export type Location = v.InferOutput<typeof Location>;

/** A content block in ACP's shape, such as text, an image or a file. */
export const PromptBlock = v.looseObject({ type: v.string() });
export type PromptBlock = v.InferOutput<typeof PromptBlock>;

/** Content that a tool shows besides its output: a text, a diff of a file, a terminal of the client, or a block such as an image. */
export const ToolContent = v.variant("type", [
  v.object({ type: v.literal("text"), text }),
  v.object({ type: v.literal("block"), block: PromptBlock }),
  v.object({ type: v.literal("diff"), path: text, old_text: v.nullable(text), new_text: text }),
  v.object({ type: v.literal("terminal"), terminal_id: text }),
]);
export type ToolContent = v.InferOutput<typeof ToolContent>;

export const StopReason = v.picklist(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"]);
export type StopReason = v.InferOutput<typeof StopReason>;

export const PlanEntry = v.object({
  content: text,
  priority: v.picklist(["high", "medium", "low"]),
  status: v.picklist(["pending", "in_progress", "completed"]),
});
export type PlanEntry = v.InferOutput<typeof PlanEntry>;

export const Decision = v.picklist(["allow", "deny", "always", "never"]);
export type Decision = v.InferOutput<typeof Decision>;

/** An engine's own option for an answer. `kind` maps it to one of our decisions. */
export const PermissionChoice = v.object({
  id: text,
  name: text,
  kind: v.picklist(["allow_once", "allow_always", "reject_once", "reject_always"]),
});
export type PermissionChoice = v.InferOutput<typeof PermissionChoice>;

/** An engine's own setting: a picker over `choices`, or a switch without them. */
export const EngineOption = v.object({
  id: text,
  name: text,
  description: v.optional(text),
  category: v.optional(text),
  value: v.union([text, v.boolean()]),
  choices: v.optional(v.array(v.object({ id: text, name: text, description: v.optional(text) }))),
});
export type EngineOption = v.InferOutput<typeof EngineOption>;

/** Who or what settled a request: a person at a client, a rule, a time-out, a cancel, or the unloading of the session. */
export const ResolvedBy = v.picklist(["client", "rule", "timeout", "cancel", "eviction"]);
export type ResolvedBy = v.InferOutput<typeof ResolvedBy>;

export const FileChange = v.picklist(["add", "update", "delete"]);

export const FileOutcome = v.object({
  path: text,
  outcome: v.picklist(["restored", "deleted", "created", "conflict", "skipped", "unchanged"]),
  /** The reason why a file is in conflict or was skipped, such as `changed_since` or `too_large`. */
  reason: v.optional(text),
});
export type FileOutcome = v.InferOutput<typeof FileOutcome>;

/** Any value that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Data that a provider must get back with a part unchanged. No client sees it, and it is dropped when the model changes. */
export const Seal = v.object({
  provider: text,
  model: text,
  data: v.unknown() as unknown as v.GenericSchema<unknown, Json>,
});
export type Seal = v.InferOutput<typeof Seal>;

export const change = v.object({ old: v.nullable(text), new: text });
export const rewind = v.object({
  turns: count,
  files: v.array(FileOutcome),
  conflicts: v.array(text),
  remaining: count,
});

export const QuestionAsked = v.object({
  question_id: text,
  call_id: text,
  question: text,
  options: v.array(v.object({ name: text, description: v.optional(text) })),
});

export const PermissionRequest = v.object({
  permission_id: text,
  call_id: text,
  tool: text,
  args: json,
  risk: Risk,
  options: v.array(Decision),
  /** The content that every client shows: the diff of an edit, the whole command or all arguments, with a note if something is left out. */
  content: v.optional(v.array(ToolContent)),
  /** The SHA-256 of `content` as JSON, in hex. An answer may carry it, and then counts only for this content. */
  shown: v.optional(text),
  /** The engine's own options, if it has any. A client may answer with the id of one. */
  choices: v.optional(v.array(PermissionChoice)),
});

export const CommandsChanged = v.object({
  commands: v.array(v.object({ name: text, description: text, hint: v.optional(text) })),
});

export const Notice = v.object({ level: v.picklist(["info", "warning", "error"]), text });
