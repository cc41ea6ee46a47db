/** What each record type carries. A closed union: readers ignore types they do not know, writers write no other. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import {
  CommandsChanged,
  change,
  Decision,
  EngineOption,
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

/** Record type -> schema of its `metadata`. */
export const metadata = {
  /** A prompt that was accepted. `prompt` is its name in this session; `key` is the sender's own: the same key again is the same prompt, sent once more. */
  user_message: v.object({
    prompt: text,
    text,
    content: v.optional(v.array(PromptBlock)),
    key: v.optional(text),
  }),
  /** The turn of a prompt begins. */
  turn_start: v.object({ prompt: text }),
  /** The model is asked: once a turn, and again after each round of calls. */
  step_start: v.object({ step: count }),
  /** The model has answered, and what it called is done. */
  step_end: v.object({ step: count }),
  /** The next piece of the answer. */
  text_delta: v.object({ text }),
  /** The next piece of what the model thinks aloud. */
  thought_delta: v.object({ text }),
  /** Closes a part that has a seal, or whose end would not be seen. For a call: where in the reply it stands. */
  part_end: v.object({
    kind: v.picklist(["text", "reasoning", "call"]),
    call_id: v.optional(text),
    seal: v.optional(Seal),
  }),
  /** A tool is called. `title` says it in words, `kind` what sort of work it is. */
  tool_call: v.object({
    call_id: text,
    tool: text,
    args: json,
    kind: ToolKind,
    title: text,
    locations: v.array(Location),
  }),
  /** What changed of a call after it was announced; `content` and `locations` replace what was there. */
  tool_update: v.object({
    call_id: text,
    title: v.optional(text),
    kind: v.optional(ToolKind),
    args: v.optional(json),
    locations: v.optional(v.array(Location)),
    content: v.optional(v.array(ToolContent)),
  }),
  /** Output of a call that still runs. */
  tool_progress: v.object({ call_id: text, stream: v.picklist(["stdout", "stderr"]), chunk: text }),
  /** A call has ended. `output` is what the model reads of it. */
  tool_result: v.object({
    call_id: text,
    success: v.boolean(),
    output: text,
    error: v.optional(v.nullable(text)),
    duration_ms: v.number(),
    content: v.optional(v.array(ToolContent)),
    /** The engine ran a call that may write without asking anybody. */
    unasked: v.optional(v.boolean()),
  }),
  /** The engine asks the people something: for one of the options, or for any text. */
  question_asked: QuestionAsked,
  /** A question has its answer; null where nobody gave one. */
  question_answered: v.object({ question_id: text, answer: v.nullable(text), by: ResolvedBy }),
  /** What happened inside of a task, under the call that it was given by. Its text comes joined, before what follows it. */
  task_event: v.object({ call_id: text, event: v.object({ type: text, metadata: json }) }),
  /** A command goes on after its call. It belongs to the session, and ends with it at the latest. */
  job_started: v.object({ job_id: text, call_id: text, command: text }),
  /** What a job wrote. */
  job_output: v.object({ job_id: text, stream: v.picklist(["stdout", "stderr"]), chunk: text }),
  /** A job is over. */
  job_ended: v.object({
    job_id: text,
    /** Null for one that a signal ended, or whose end nobody saw. */
    exit_code: v.nullable(v.pipe(v.number(), v.integer())),
    by: v.picklist(["itself", "stop", "session"]),
  }),
  /** A call waits for somebody to allow it. */
  permission_request: PermissionRequest,
  /** Somebody or something has decided. */
  permission_resolved: v.object({
    permission_id: text,
    decision: Decision,
    by: ResolvedBy,
    choice: v.optional(text),
    /** Why a person said no, in their words; the model reads it. */
    reason: v.optional(text),
  }),
  /** The whole list of what is to be done, each time anew. */
  plan: v.object({ entries: v.array(PlanEntry) }),
  /** Tokens and cost of the session so far; `used` of `size` is how full the model's window is. */
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
  file_edit: v.object({ path: text, diff: text, change: v.picklist(["add", "update", "delete"]) }),
  /** A tool looked at a file: an editor may follow. */
  file_open: v.object({ path: text, line: v.optional(count) }),
  /** A call shows its output in a terminal that the client owns. */
  terminal_output: v.object({ call_id: text, terminal_id: text }),
  /** The mode is another one. */
  mode_changed: change,
  /** The model is another one. */
  model_changed: change,
  /** The approval preset is another one. */
  approval_changed: change,
  /** An option, the agent or a flag has a new value. */
  config_changed: v.object({ id: text, value: v.union([text, v.boolean()]) }),
  /** A confined command tried what it may not do. */
  sandbox_violation: v.object({
    tool: text,
    path: v.optional(text),
    command: v.optional(text),
    mode: text,
    reason: text,
  }),
  /** The slash commands that the engine offers as its own, whole. */
  commands_changed: CommandsChanged,
  /** The settings that the engine offers as its own, whole; clients know them as `engine:` and the id. */
  options_changed: v.object({ options: v.array(EngineOption) }),
  /** A piece of an answer or a thought that is not text: an image, a link to a file. */
  content: v.object({ role: v.picklist(["agent", "thought"]), block: PromptBlock }),
  /** What an engine sent that no other type has a place for. No client shows it. */
  vendor: v.object({ name: text, data: v.unknown() as unknown as v.GenericSchema<unknown, Json> }),
  /** A client closed the session: flags and options are as it was made, model and agent stay. */
  settings_reset: v.object({}),
  /** The session has a title, or another one. */
  title_changed: v.object({ title: text }),
  /** Whether other people may read the session. */
  sharing_changed: v.object({ shared: v.boolean() }),
  /** The session was ended for good: its snapshots are gone, its log stays, and nothing loads it any more. */
  torn_down: v.object({}),
  /** What the engine keeps in the session beyond a turn. No client sees `state`. */
  agent_session: v.object({ state: v.unknown() as unknown as v.GenericSchema<unknown, Json> }),
  /** Something a person should know that is not part of the answer. */
  notice: Notice,
  /**
   * The summary stands for everything before turn `from_turn`. With `from_call` also for that turn's replies before the one that
   * made this call; null: for all of its replies so far. The prompt of the turn always stays.
   */
  compaction: v.object({ summary: text, from_turn: count, from_call: v.optional(v.nullable(text)) }),
  /** The conversation begins anew: the model sees nothing of what came before. */
  cleared: v.object({}),
  /** This session is a copy of another one up to a record of it. */
  forked: v.object({ from: text, at: count }),
  /** Turns were taken back, with what they did to files. */
  undo: rewind,
  /** Turns that were undone are back. */
  redo: rewind,
  /** Why the turn ends. The last record follows. */
  turn_end: v.object({ stop_reason: StopReason }),
  /** The turn failed. */
  error: v.object({ name: text, message: text, retryable: v.boolean() }),
  /** The last record of a turn that ran to its end, well or not. */
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
