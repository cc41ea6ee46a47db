/** The metadata of each record type. Writers write only these types, and readers ignore unknown ones. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import type { Json } from "./value.js";
import * as value from "./value.js";

/** The schema of the `metadata` of each record type. */
export const metadata = {
  /** A prompt was accepted. */
  user_message: v.object({
    /** The id of the prompt in this session. */
    prompt: text,
    /** The text of the prompt. */
    text,
    /** The whole prompt as blocks; absent if it is only text. */
    content: v.optional(v.array(value.PromptBlock)),
    /** The sender's own id: the same key means the same prompt. Absent if the sender gave none. */
    key: v.optional(text),
  }),
  /** The turn of a prompt begins. @property prompt The id of the prompt. */
  turn_start: v.object({ prompt: text }),
  /**
   * The agent sends a request to the model: once a turn, and again after each round of calls.
   * @property step The number of the request in its turn.
   */
  step_start: v.object({ step: count }),
  /** The model has answered, and its calls have ended. @property step The number of the request in its turn. */
  step_end: v.object({ step: count }),
  /** The next piece of the model's answer. @property text The piece. */
  text_delta: v.object({ text }),
  /** The next piece of the model's visible reasoning. @property text The piece. */
  thought_delta: v.object({ text }),
  /** A part of the reply ends. Recorded if it has a seal or its end is otherwise not visible. Marks the place of a call in the reply. */
  part_end: v.object({
    /** The kind of part. */
    kind: v.picklist(["text", "reasoning", "call"]),
    /** The id of the call; absent for other parts. */
    call_id: v.optional(text),
    /** What the provider must get back with the part; absent if it needs nothing. */
    seal: v.optional(value.Seal),
  }),
  /** The model calls a tool. */
  tool_call: v.object({
    /** The id of the call. */
    call_id: text,
    /** The name of the tool. */
    tool: text,
    /** The arguments of the call. */
    args: value.json,
    /** The kind of work. */
    kind: value.ToolKind,
    /** What the call does, in a few words for people. */
    title: text,
    /** The files that the call touches. */
    locations: v.array(value.Location),
  }),
  /** Fields of a call have changed since its announcement. Absent fields are unchanged. */
  tool_update: v.object({
    /** The id of the call. */
    call_id: text,
    /** What the call does, in a few words for people. */
    title: v.optional(text),
    /** The kind of work. */
    kind: v.optional(value.ToolKind),
    /** The arguments of the call. */
    args: v.optional(value.json),
    /** The files that the call touches, which replace the earlier ones. */
    locations: v.optional(v.array(value.Location)),
    /** What the call shows besides its output, which replaces the earlier content. */
    content: v.optional(v.array(value.ToolContent)),
  }),
  /**
   * A running call has written output.
   * @property call_id The id of the call.
   * @property stream The stream that it wrote to.
   * @property chunk The next piece of the output.
   */
  tool_progress: v.object({ call_id: text, stream: v.picklist(["stdout", "stderr"]), chunk: text }),
  /** A call has ended. */
  tool_result: v.object({
    /** The id of the call. */
    call_id: text,
    /** Whether the tool did its work. */
    success: v.boolean(),
    /** The text for the model. */
    output: text,
    /** Why the call failed; null or absent if it did not. */
    error: v.optional(v.nullable(text)),
    /** How long the call took, in milliseconds. */
    duration_ms: v.number(),
    /** What the call shows besides its output; absent if there is nothing. */
    content: v.optional(v.array(value.ToolContent)),
    /** Whether the engine ran a call that may write, and did not ask for permission; absent if not. */
    unasked: v.optional(v.boolean()),
  }),
  /** The engine asks the attached clients a question. The answer is one of the options or any text. */
  question_asked: value.QuestionAsked,
  /**
   * A question was answered.
   * @property question_id The id of the question.
   * @property answer The answer; null if no client answered.
   * @property by Who or what settled it.
   */
  question_answered: v.object({ question_id: text, answer: v.nullable(text), by: value.ResolvedBy }),
  /** An event of a task, which belongs to the call that started the task. Its text is joined and comes before the next event. */
  task_event: v.object({
    /** The id of the call that started the task. */
    call_id: text,
    /**
     * The event.
     *
     * @property type The type of the event, one of the types of records.
     * @property metadata The fields of the type.
     */
    event: v.object({ type: text, metadata: value.json }),
  }),
  /**
   * A command continues after its call as a job. It belongs to the session, and ends with it at the latest.
   * @property job_id The id of the job.
   * @property call_id The id of the call that started it.
   * @property command The command.
   */
  job_started: v.object({ job_id: text, call_id: text, command: text }),
  /**
   * A job has written output.
   * @property job_id The id of the job.
   * @property stream The stream that it wrote to.
   * @property chunk The next piece of the output.
   */
  job_output: v.object({ job_id: text, stream: v.picklist(["stdout", "stderr"]), chunk: text }),
  /** A job has ended. */
  job_ended: v.object({
    /** The id of the job. */
    job_id: text,
    /** The exit code; null if a signal ended the job, or if its end was not observed. */
    exit_code: v.nullable(v.pipe(v.number(), v.integer())),
    /** What ended it: the command itself, a stop, or the end of the session. */
    by: v.picklist(["itself", "stop", "session"]),
  }),
  /** A call waits for permission. */
  permission_request: value.PermissionRequest,
  /** A client, a rule, a time-out, a cancel or the unloading of the session has decided a permission request. */
  permission_resolved: v.object({
    /** The id of the request. */
    permission_id: text,
    /** The decision. */
    decision: value.Decision,
    /** Who or what decided. */
    by: value.ResolvedBy,
    /** The id of the choice that was taken; absent if none was. */
    choice: v.optional(text),
    /** The person's reason for a no, in their own words, which the model reads; absent if none was given. */
    reason: v.optional(text),
  }),
  /** The agent's whole plan, which replaces the earlier one. @property entries The steps of the plan, in their order. */
  plan: v.object({ entries: v.array(value.PlanEntry) }),
  /** The tokens and cost of the session so far. */
  usage: v.object({
    /** The tokens that went to the model. */
    input: count,
    /** The tokens that the model answered with. */
    output: count,
    /** The tokens that the provider had in its cache. */
    cache: count,
    /** The tokens that the model reasoned with. */
    reasoning: count,
    /** The cost in dollars. */
    total_usd: v.number(),
    /** Whether the price of the model is known; otherwise the cost leaves its tokens out. */
    priced: v.boolean(),
    /** The tokens of the model's window that are in use. */
    used: count,
    /** The tokens that the model's window has; 0 if that is not known. */
    size: count,
  }),
  /**
   * A tool changed a file.
   * @property path The path of the file.
   * @property diff The unified diff.
   * @property change What happened to the file.
   */
  file_edit: v.object({ path: text, diff: text, change: value.FileChange }),
  /**
   * A tool opened a file, so that an editor can follow.
   * @property path The path of the file.
   * @property line The number of the line; absent for the whole file.
   */
  file_open: v.object({ path: text, line: v.optional(count) }),
  /** A call's output is in a terminal of the client. @property call_id The id of the call. @property terminal_id The id of the terminal. */
  terminal_output: v.object({ call_id: text, terminal_id: text }),
  /** The mode was changed. */
  mode_changed: value.change,
  /** The model was changed. */
  model_changed: value.change,
  /** The approval preset was changed. */
  approval_changed: value.change,
  /** An option, the agent or a flag was changed. @property id The name of the setting. @property value Its new value. */
  config_changed: v.object({ id: text, value: v.union([text, v.boolean()]) }),
  /** The sandbox stopped a call. */
  sandbox_violation: v.object({
    /** The name of the tool. */
    tool: text,
    /** The path that it wanted; absent if it was not about a path. */
    path: v.optional(text),
    /** The command that it wanted to run; absent if it was not about a command. */
    command: v.optional(text),
    /** The mode of the sandbox. */
    mode: text,
    /** Why the sandbox stopped the call. */
    reason: text,
  }),
  /** The complete list of the engine's own slash commands. */
  commands_changed: value.CommandsChanged,
  /**
   * The complete list of the engine's own settings.
   * @property options The settings. Clients use `engine:` and the id as the name of each.
   */
  options_changed: v.object({ options: v.array(value.EngineOption) }),
  /**
   * A piece of an answer or a thought that is not text, such as an image or a link to a file.
   * @property role Whether it belongs to the answer or to a thought.
   * @property block The piece.
   */
  content: v.object({ role: v.picklist(["agent", "thought"]), block: value.PromptBlock }),
  /**
   * An event of an engine that fits no other type. No client shows it.
   * @property name The name that the engine has for it.
   * @property data What the engine said.
   */
  vendor: v.object({ name: text, data: v.unknown() as unknown as v.GenericSchema<unknown, Json> }),
  /** A client closed the session. Flags and options return to those it was made with; model and agent stay. */
  settings_reset: v.object({}),
  /** The title was set or changed. @property title The title; empty if it was removed. */
  title_changed: v.object({ title: text }),
  /** Other people were allowed to read the session, or forbidden to. @property shared Whether they may read it. */
  sharing_changed: v.object({ shared: v.boolean() }),
  /** The session was ended for good. Its snapshots were deleted, its log stays, and it cannot be loaded again. */
  torn_down: v.object({}),
  /** The engine's state beyond a turn. @property state The state, which only the engine understands. No client sees it. */
  agent_session: v.object({ state: v.unknown() as unknown as v.GenericSchema<unknown, Json> }),
  /** A message for people that is not part of the answer. */
  notice: value.Notice,
  /**
   * A summary replaces the beginning of the conversation for the model. The prompt of the turn `from_turn` always stays.
   * @property summary The summary.
   * @property from_turn The number of the first turn that is not replaced, counted from 0.
   * @property from_call The summary also replaces that turn's replies before the one that made this call; with null all of its replies so far, and none if it is absent.
   */
  compaction: v.object({ summary: text, from_turn: count, from_call: v.optional(v.nullable(text)) }),
  /** The conversation was cleared. The model sees nothing from before. */
  cleared: v.object({}),
  /**
   * This session is a copy of another one, up to one of its records.
   * @property from The id of the other session.
   * @property at The number of the last record that was copied.
   */
  forked: v.object({ from: text, at: count }),
  /** Turns were undone, together with their changes to files. */
  undo: value.rewind,
  /** Undone turns were redone, together with their changes to files. */
  redo: value.rewind,
  /** The turn ends. Its last record follows. @property stop_reason Why the turn ends. */
  turn_end: v.object({ stop_reason: value.StopReason }),
  /**
   * The turn failed.
   * @property name The kind of failure.
   * @property message What went wrong, in words.
   * @property retryable Whether the same prompt could succeed later.
   */
  error: v.object({ name: text, message: text, retryable: v.boolean() }),
  /** The last record of a turn that ran to its end, successfully or not. */
  agent_result: v.object({
    /** The text of the answer. */
    output: text,
    /** How many requests went to the model. */
    steps: count,
    /** How many tools were called. */
    tool_calls_total: count,
    /** The cost of the turn in dollars. */
    cost: v.number(),
    /** Whether the turn ended successfully. */
    success: v.boolean(),
    /** Why the turn failed; null if it did not. */
    error: v.nullable(text),
  }),
  /**
   * The last record of a turn that was cancelled, or never ran.
   * @property output The text of the answer so far.
   * @property steps How many requests went to the model; absent if that is not known.
   * @property cost The cost of the turn in dollars; absent if that is not known.
   */
  cancelled: v.object({ output: text, steps: v.optional(count), cost: v.optional(v.number()) }),
} as const;

export type RecordType = keyof typeof metadata;
export type Metadata<T extends RecordType = RecordType> = v.InferOutput<(typeof metadata)[T]>;
