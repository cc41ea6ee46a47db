/** The metadata of each record type. Writers write only these types, and readers ignore unknown ones. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import {
  CommandsChanged,
  change,
  Decision,
  EngineOption,
  FileChange,
  type Json,
  json,
  Location,
  Notice,
  PermissionRequest,
  PlanEntry,
  PromptBlock,
  QuestionAsked,
  ResolvedBy,
  rewind,
  Seal,
  StopReason,
  ToolContent,
  ToolKind,
} from "./value.js";

/** The schema of the `metadata` of each record type. */
export const metadata = {
  /** A prompt was accepted. `prompt` is its id in this session. `key` is the sender's own id; the same key means the same prompt. */
  user_message: v.object({
    prompt: text,
    text,
    content: v.optional(v.array(PromptBlock)),
    key: v.optional(text),
  }),
  /** The turn of a prompt begins. */
  turn_start: v.object({ prompt: text }),
  /** The agent sends a request to the model: once a turn, and again after each round of calls. */
  step_start: v.object({ step: count }),
  /** The model has answered, and its calls have ended. */
  step_end: v.object({ step: count }),
  /** The next piece of the model's answer. */
  text_delta: v.object({ text }),
  /** The next piece of the model's visible reasoning. */
  thought_delta: v.object({ text }),
  /** A part of the reply ends. Recorded if it has a seal or its end is otherwise not visible. Marks the place of a call in the reply. */
  part_end: v.object({
    kind: v.picklist(["text", "reasoning", "call"]),
    call_id: v.optional(text),
    seal: v.optional(Seal),
  }),
  /** The model calls a tool. `title` describes the call to people, and `kind` is the kind of work. */
  tool_call: v.object({
    call_id: text,
    tool: text,
    args: json,
    kind: ToolKind,
    title: text,
    locations: v.array(Location),
  }),
  /** Fields of a call have changed since its announcement. `content` and `locations` replace the earlier ones. */
  tool_update: v.object({
    call_id: text,
    title: v.optional(text),
    kind: v.optional(ToolKind),
    args: v.optional(json),
    locations: v.optional(v.array(Location)),
    content: v.optional(v.array(ToolContent)),
  }),
  /** A running call has written output. */
  tool_progress: v.object({ call_id: text, stream: v.picklist(["stdout", "stderr"]), chunk: text }),
  /** A call has ended. `output` is the text for the model. */
  tool_result: v.object({
    call_id: text,
    success: v.boolean(),
    output: text,
    error: v.optional(v.nullable(text)),
    duration_ms: v.number(),
    content: v.optional(v.array(ToolContent)),
    /** The engine ran a call that may write, and did not ask for permission. */
    unasked: v.optional(v.boolean()),
  }),
  /** The engine asks the attached clients a question. The answer is one of the options or any text. */
  question_asked: QuestionAsked,
  /** A question was answered; null if no client answered. */
  question_answered: v.object({ question_id: text, answer: v.nullable(text), by: ResolvedBy }),
  /** An event of a task, which belongs to the call that started the task. Its text is joined and comes before the next event. */
  task_event: v.object({ call_id: text, event: v.object({ type: text, metadata: json }) }),
  /** A command continues after its call as a job. It belongs to the session, and ends with it at the latest. */
  job_started: v.object({ job_id: text, call_id: text, command: text }),
  /** A job has written output. */
  job_output: v.object({ job_id: text, stream: v.picklist(["stdout", "stderr"]), chunk: text }),
  /** A job has ended. */
  job_ended: v.object({
    job_id: text,
    /** Null if a signal ended the job, or if its end was not observed. */
    exit_code: v.nullable(v.pipe(v.number(), v.integer())),
    by: v.picklist(["itself", "stop", "session"]),
  }),
  /** A call waits for permission. */
  permission_request: PermissionRequest,
  /** A client, a rule, a time-out, a cancel or the unloading of the session has decided a permission request. */
  permission_resolved: v.object({
    permission_id: text,
    decision: Decision,
    by: ResolvedBy,
    choice: v.optional(text),
    /** The person's reason for a no, in their own words. The model reads it. */
    reason: v.optional(text),
  }),
  /** The agent's whole plan, which replaces the earlier one. */
  plan: v.object({ entries: v.array(PlanEntry) }),
  /** The tokens and cost of the session so far. `used` of `size` tokens in the model's window are in use. */
  usage: v.object({
    input: count,
    output: count,
    cache: count,
    reasoning: count,
    total_usd: v.number(),
    priced: v.boolean(),
    used: count,
    size: count,
  }),
  /** A tool changed a file. */
  file_edit: v.object({ path: text, diff: text, change: FileChange }),
  /** A tool opened a file, so that an editor can follow. */
  file_open: v.object({ path: text, line: v.optional(count) }),
  /** A call's output is in a terminal of the client. */
  terminal_output: v.object({ call_id: text, terminal_id: text }),
  /** The mode was changed. */
  mode_changed: change,
  /** The model was changed. */
  model_changed: change,
  /** The approval preset was changed. */
  approval_changed: change,
  /** An option, the agent or a flag was changed. */
  config_changed: v.object({ id: text, value: v.union([text, v.boolean()]) }),
  /** The sandbox stopped a call. */
  sandbox_violation: v.object({
    tool: text,
    path: v.optional(text),
    command: v.optional(text),
    mode: text,
    reason: text,
  }),
  /** The complete list of the engine's own slash commands. */
  commands_changed: CommandsChanged,
  /** The complete list of the engine's own settings. Clients use `engine:` and the id as the name of each. */
  options_changed: v.object({ options: v.array(EngineOption) }),
  /** A piece of an answer or a thought that is not text, such as an image or a link to a file. */
  content: v.object({ role: v.picklist(["agent", "thought"]), block: PromptBlock }),
  /** An event of an engine that fits no other type. No client shows it. */
  vendor: v.object({ name: text, data: v.unknown() as unknown as v.GenericSchema<unknown, Json> }),
  /** A client closed the session. Flags and options return to those it was made with; model and agent stay. */
  settings_reset: v.object({}),
  /** The title was set or changed. */
  title_changed: v.object({ title: text }),
  /** Other people were allowed to read the session, or forbidden to. */
  sharing_changed: v.object({ shared: v.boolean() }),
  /** The session was ended for good. Its snapshots were deleted, its log stays, and it cannot be loaded again. */
  torn_down: v.object({}),
  /** The engine's state beyond a turn. No client sees `state`. */
  agent_session: v.object({ state: v.unknown() as unknown as v.GenericSchema<unknown, Json> }),
  /** A message for people that is not part of the answer. */
  notice: Notice,
  /**
   * A summary replaces everything before turn `from_turn` for the model. With `from_call` it also replaces that turn's replies before the
   * one that made this call; with null, all of the turn's replies so far. The prompt of the turn always stays.
   */
  compaction: v.object({ summary: text, from_turn: count, from_call: v.optional(v.nullable(text)) }),
  /** The conversation was cleared. The model sees nothing from before. */
  cleared: v.object({}),
  /** This session is a copy of another one, up to one of its records. */
  forked: v.object({ from: text, at: count }),
  /** Turns were undone, together with their changes to files. */
  undo: rewind,
  /** Undone turns were redone, together with their changes to files. */
  redo: rewind,
  /** The reason why the turn ends. Its last record follows. */
  turn_end: v.object({ stop_reason: StopReason }),
  /** The turn failed. */
  error: v.object({ name: text, message: text, retryable: v.boolean() }),
  /** The last record of a turn that ran to its end, successfully or not. */
  agent_result: v.object({
    output: text,
    steps: count,
    tool_calls_total: count,
    cost: v.number(),
    success: v.boolean(),
    error: v.nullable(text),
  }),
  /** The last record of a turn that was cancelled, or never ran. */
  cancelled: v.object({ output: text, steps: v.optional(count), cost: v.optional(v.number()) }),
} as const;

export type RecordType = keyof typeof metadata;
export type Metadata<T extends RecordType = RecordType> = v.InferOutput<(typeof metadata)[T]>;
