/** The shapes in records, some of which HTTP uses unchanged. They are apart from the table, so that a page loads only those it uses. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import { toolKinds } from "../define/tool-kinds.js";

export const json = v.record(v.string(), v.unknown());

/** The kind of work that a tool does, in the words of ACP. */
export const ToolKind = v.picklist(toolKinds);
export type ToolKind = v.InferOutput<typeof ToolKind>;

/** How much harm a call could do. */
export const Risk = v.picklist(["low", "medium", "high", "critical"]);
export type Risk = v.InferOutput<typeof Risk>;

/**
 * A place in a file.
 *
 * @property path The path of the file.
 * @property line The number of the line; absent for the whole file.
 */
export const Location = v.object({ path: text, line: v.optional(count) });
export type Location = v.InferOutput<typeof Location>;

/**
 * A content block in ACP's shape, such as text, an image or a file.
 *
 * @property type The kind of block. The other fields are those of ACP's block of that kind.
 */
export const PromptBlock = v.looseObject({ type: v.string() });
export type PromptBlock = v.InferOutput<typeof PromptBlock>;

/** Content that a tool shows besides its output: a text, a diff of a file, a terminal of the client, or a block such as an image. */
export const ToolContent = v.variant("type", [
  /**
   * A text.
   *
   * @property text The text.
   */
  v.object({ type: v.literal("text"), text }),
  /**
   * A block such as an image.
   *
   * @property block The block.
   */
  v.object({ type: v.literal("block"), block: PromptBlock }),
  /**
   * The change of a file.
   *
   * @property path The path of the file.
   * @property old_text The text before; null for a new file.
   * @property new_text The text after.
   */
  v.object({ type: v.literal("diff"), path: text, old_text: v.nullable(text), new_text: text }),
  /**
   * A terminal of the client.
   *
   * @property terminal_id The id of the terminal.
   */
  v.object({ type: v.literal("terminal"), terminal_id: text }),
]);
export type ToolContent = v.InferOutput<typeof ToolContent>;

/** Why a turn ended. */
export const StopReason = v.picklist(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"]);
export type StopReason = v.InferOutput<typeof StopReason>;

/** A step of the agent's plan. */
export const PlanEntry = v.object({
  /** What is to be done. */
  content: text,
  /** How important it is. */
  priority: v.picklist(["high", "medium", "low"]),
  /** How far it is. */
  status: v.picklist(["pending", "in_progress", "completed"]),
});
export type PlanEntry = v.InferOutput<typeof PlanEntry>;

/** `allow` and `deny` answer one request; `always` and `never` are also remembered for later ones. */
export const Decision = v.picklist(["allow", "deny", "always", "never"]);
export type Decision = v.InferOutput<typeof Decision>;

/** An engine's own option for an answer. `kind` maps it to one of our decisions. */
export const PermissionChoice = v.object({
  /** The id, by which an answer names it. */
  id: text,
  /** What a person reads. */
  name: text,
  /** What the choice stands for. */
  kind: v.picklist(["allow_once", "allow_always", "reject_once", "reject_always"]),
});
export type PermissionChoice = v.InferOutput<typeof PermissionChoice>;

/** An engine's own setting: a picker over `choices`, or a switch without them. */
export const EngineOption = v.object({
  /** The id; clients name the setting by `engine:` and this id. */
  id: text,
  /** The name for people. */
  name: text,
  /** What the setting does; absent if the engine does not say. */
  description: v.optional(text),
  /** The kind of setting, such as `mode` or `model`; absent if the engine does not say. */
  category: v.optional(text),
  /** The present value: the id of a choice, or whether the switch is on. */
  value: v.union([text, v.boolean()]),
  /**
   * The values to choose from; absent for a switch.
   *
   * @property id The value.
   * @property name The name for people.
   * @property description What the value means; absent if the engine does not say.
   */
  choices: v.optional(v.array(v.object({ id: text, name: text, description: v.optional(text) }))),
});
export type EngineOption = v.InferOutput<typeof EngineOption>;

/** Who or what settled a request: a person at a client, a rule, a time-out, a cancel, or the unloading of the session. */
export const ResolvedBy = v.picklist(["client", "rule", "timeout", "cancel", "eviction"]);
export type ResolvedBy = v.InferOutput<typeof ResolvedBy>;

/** What happened to a file. */
export const FileChange = v.picklist(["add", "update", "delete"]);

/** What undo or redo did with a file. */
export const FileOutcome = v.object({
  /** The path, relative to the session's directory. */
  path: text,
  /** What became of the file. */
  outcome: v.picklist(["restored", "deleted", "created", "conflict", "skipped", "unchanged"]),
  /** The reason why a file is in conflict or was skipped, such as `changed_since` or `too_large`; absent for other files. */
  reason: v.optional(text),
});
export type FileOutcome = v.InferOutput<typeof FileOutcome>;

/** Any value that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Data that a provider must get back with a part unchanged. No client sees it, and it is dropped when the model changes. */
export const Seal = v.object({
  /** The provider that made it. */
  provider: text,
  /** The model that made it. */
  model: text,
  /** The data, which only the provider understands. */
  data: v.unknown() as unknown as v.GenericSchema<unknown, Json>,
});
export type Seal = v.InferOutput<typeof Seal>;

/**
 * A setting has another value.
 *
 * @property old The value before; null if it is not known.
 * @property new The value from now on.
 */
export const change = v.object({ old: v.nullable(text), new: text });
/** What an undo or a redo did. */
export const rewind = v.object({
  /** How many turns were undone or redone. */
  turns: count,
  /** What became of each file. */
  files: v.array(FileOutcome),
  /** The paths of files that others changed after the turn. They are left alone unless `force` is true. */
  conflicts: v.array(text),
  /** How many more turns can be undone or redone. */
  remaining: count,
});

/** A question of the agent. */
export const QuestionAsked = v.object({
  /** The id of the question. */
  question_id: text,
  /** The call that asks. */
  call_id: text,
  /** The question. */
  question: text,
  /**
   * The answers to choose from; empty if only a text is asked for.
   *
   * @property name The answer.
   * @property description What the answer means; absent if the agent does not say.
   */
  options: v.array(v.object({ name: text, description: v.optional(text) })),
});

/** A call that waits for permission. */
export const PermissionRequest = v.object({
  /** The id of the request. */
  permission_id: text,
  /** The call that waits. */
  call_id: text,
  /** The name of the tool. */
  tool: text,
  /** The arguments of the call. */
  args: json,
  /** How much harm the call could do. */
  risk: Risk,
  /** The decisions that may answer it. */
  options: v.array(Decision),
  /** The content that every client shows: the diff of an edit, the whole command or all arguments, with a note if something is left out. */
  content: v.optional(v.array(ToolContent)),
  /** The SHA-256 of `content` as JSON, in hex. An answer may carry it, and then counts only for this content. */
  shown: v.optional(text),
  /** The engine's own options, if it has any. A client may answer with the id of one. */
  choices: v.optional(v.array(PermissionChoice)),
});

/** Slash commands. */
export const CommandsChanged = v.object({
  /**
   * The commands.
   *
   * @property name The name, without the slash.
   * @property description What the command does, in a few words.
   * @property hint What to write after the name; absent if the command takes no arguments.
   */
  commands: v.array(v.object({ name: text, description: text, hint: v.optional(text) })),
});

/**
 * A message for people that is not part of the answer.
 *
 * @property level How serious it is.
 * @property text The message.
 */
export const Notice = v.object({ level: v.picklist(["info", "warning", "error"]), text });
