/** Shows the records of a session to a person: prints whole lines, and gives the lines and the label of the live area. */
import {
  createTurnEnds,
  type Metadata,
  type RecordOf,
  type RecordType,
  type SessionRecord,
} from "@chimera/acp-schema/events";
import { endOf, startOf } from "@chimera/acp-schema/text";
import { createMarkdownStream, wrap } from "../terminal/markdown.js";
import { folded } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";
import { count, diffLines, formatDuration, plain, plainLine } from "../terminal/text.js";
import { readable } from "./readable.js";
import { createTask, type Inside, insideWidth, type Task, tasksNow } from "./task.js";
import {
  createFolds,
  createJobOutputs,
  createListing,
  createPlan,
  createThought,
  createWaits,
  TAIL_CHARACTERS,
} from "./view-state.js";

interface ViewOptions {
  readonly style: Style;
  readonly print: (text: string) => void;
  /** Columns at which to wrap text; undefined for no wrapping. */
  readonly width: () => number | undefined;
  readonly clock: () => number;
  /** The session's present settings. */
  readonly settings: () => { readonly model: string; readonly mode: string } | null;
  /** The name of the key that unfolds; null folds nothing. @defaultValue Ctrl-O */
  readonly more?: string | null;
}

interface OpenCall {
  readonly title: string;
  readonly startedAt: number;
  /** The end of its output. */
  output: string;
  /** How long it has waited for a person. */
  waitedMs: number;
  /** Present when another agent works under it. */
  task: Task | null;
}

/** Most lines of a diff, of a thought and of a command's output. Ctrl-O shows the rest. */
const DIFF_LINES = 40;
const THOUGHT_LINES = 2;
const TAIL_LINES = 3;

export interface View extends Inside {
  /** The end of the text that is still arriving: of an answer, a thought or a command's output; or the present work of tasks. */
  lines(): string[];
  /** A line for each running job, with the last line of its output. */
  jobLines(running: Iterable<Metadata<"job_started">>): string[];
  /** Prints the text that was folded last; the next time, the text folded before it. */
  unfold(): void;
}

export function createView(options: ViewOptions): View {
  const { style, print, width, clock, settings, more = "Ctrl-O" } = options;
  const markdown = createMarkdownStream(style, width);
  const calls = new Map<string, OpenCall>();
  const waits = createWaits();
  const titles = new Set<string>();
  const jobs = createJobOutputs();
  const thought = createThought(style, width);
  const listing = createListing(width);
  const plan = createPlan(style, width);
  let diffs: string[] = [];
  let startedAt: number | null = null;
  const whatEnds = createTurnEnds();
  let toolCalls = 0;
  let context = "";
  /** The kind of the last lines: a blank line separates text from calls, and one message from the next. */
  let last: "said" | "message" | "done" | "none" = "none";
  let doing = "";
  /** Text before the first step comes from a slash command: names and descriptions, not Markdown. */
  let isListing = false;

  const line = (text: string) => print(`${text}\n`);
  const enter = (kind: typeof last) => {
    if (last !== "none" && last !== kind) print("\n");
    last = kind;
  };
  const say = (text: string) => {
    if (text === "") return;
    enter("said");
    print(text);
  };
  const folds = createFolds({ style, line, more });
  const endThought = () => {
    const lines = thought.end();
    if (lines.length === 0) return;
    enter("done");
    folds.fold(lines, THOUGHT_LINES);
  };
  const flush = () => {
    endThought();
    say(listing.end());
    say(markdown.end());
  };
  const note = (text: string, paint = style.dim) => {
    flush();
    enter("done");
    for (const part of plain(text).split("\n")) line(paint(wrap(part, width())));
  };

  /** Folds a finished task. Returns the facts for the line of its call. */
  const endTask = ({ title, task }: Pick<OpenCall, "title" | "task">): string[] => {
    const lines = task?.lines() ?? [];
    if (!task || lines.length === 0) return [];
    if (more === null) for (const one of lines) line(one);
    else folds.hide([`${style.cyan("▸")} ${title}`, ...lines]);
    const calls = count(task.view.ended, "tool call");
    return more === null ? [calls] : [calls, `${more} shows it`];
  };
  /** The call that a question is about; for a call inside a task, the call of the task. */
  const callOf = (id: string): OpenCall | undefined =>
    calls.get(id) ?? [...calls].find(([outer]) => id.startsWith(`${outer}/`))?.[1];
  const endWait = (id: string, record: SessionRecord) => {
    const wait = waits.end(id, record.ts);
    const call = wait && callOf(wait.callId);
    if (call) call.waitedMs += wait.ms;
    call?.task?.view.apply(record);
  };
  const finishCall = ({ metadata }: RecordOf<"tool_result">) => {
    const call = calls.get(metadata.call_id);
    calls.delete(metadata.call_id);
    toolCalls++;
    flush();
    enter("done");
    const took = formatDuration(metadata.duration_ms - (call?.waitedMs ?? 0));
    const facts = [took, ...(call ? endTask(call) : [])];
    const title = `${call?.title ?? "tool"} ${style.dim(facts.join(" · "))}`;
    if (metadata.success) line(`${style.green("✓")} ${title}`);
    else {
      const said = plain(metadata.error || metadata.output).trim();
      const why = startOf(plainLine(said.split("\n", 1)[0] ?? ""), 200);
      line(`${style.red("✗")} ${title} ${style.red(why)}`);
      const output = call?.output || metadata.output;
      if (plain(output).trimEnd() !== said.split("\n", 1)[0]) folds.tail(output);
    }
    for (const diff of diffs) folds.fold(diffLines(diff, style), DIFF_LINES);
    diffs = [];
    doing = "working";
  };

  const endTurn = (ts: string, facts: readonly string[]) => {
    flush();
    calls.clear();
    titles.clear();
    const took = startedAt === null ? [] : [formatDuration(Date.parse(ts) - startedAt - waits.totalMs)];
    if (facts.length > 0) line(style.dim(wrap([...facts, ...took].join(" · "), width())));
    print("\n");
    last = "none";
    startedAt = null;
    waits.reset();
    toolCalls = 0;
    doing = "";
    isListing = false;
  };
  /** The facts about a turn; none for a slash command. */
  const factsOf = ({ metadata }: RecordOf<"agent_result">): string[] => {
    if (metadata.steps === 0) return [];
    const now = settings();
    return [
      ...(now ? [startOf(plainLine(now.model), 40), now.mode] : []),
      ...(context === "" ? [] : [context]),
      count(metadata.steps, "step"),
      ...(toolCalls > 0 ? [count(toolCalls, "tool call")] : []),
      ...(metadata.cost > 0 ? [`$${metadata.cost.toFixed(4)}`] : []),
    ];
  };

  const rewound = ({ type, metadata }: RecordOf<"undo" | "redo">) => {
    if (startedAt === null) note(`${type}: ${metadata.turns} turns, ${metadata.remaining} remaining`);
  };
  const changed = ({ type, metadata }: RecordOf<"model_changed" | "mode_changed" | "approval_changed">) => {
    if (startedAt === null) note(`${type.replace("_changed", "")}: ${metadata.new}`);
  };
  const rows: { readonly [T in RecordType]?: (record: RecordOf<T>) => void } = {
    user_message({ metadata, origin }) {
      flush();
      const from = origin ? style.dim(` (${plainLine(origin)})`) : "";
      line(`${promptLines(metadata.text, style, width())}${from}`);
      last = "none";
    },
    turn_start({ ts }) {
      startedAt = Date.parse(ts);
      isListing = true;
      doing = "working";
    },
    step_start() {
      isListing = false;
    },
    text_delta({ metadata }) {
      endThought();
      say(isListing ? listing.write(metadata.text) : markdown.write(metadata.text));
      doing = "writing";
    },
    thought_delta({ metadata }) {
      if (thought.isEmpty) say(markdown.end());
      thought.write(metadata.text);
      doing = "thinking";
    },
    part_end({ metadata }) {
      flush();
      if (metadata.kind === "text" && last === "said") last = "message";
    },
    plan({ metadata }) {
      // Skip entries that are just the titles of calls, which have their own lines.
      const lines = plan.changed(metadata.entries.filter(({ content }) => !titles.has(plainLine(content))));
      if (lines.length === 0) return;
      flush();
      enter("done");
      for (const one of lines) line(one);
    },
    tool_call({ metadata }) {
      flush();
      const title = plainLine(metadata.title);
      titles.add(title);
      calls.set(metadata.call_id, { title, startedAt: clock(), output: "", waitedMs: 0, task: null });
    },
    permission_request(record) {
      const { permission_id, call_id } = record.metadata;
      flush();
      enter("done");
      waits.begin(permission_id, call_id, record.ts);
      callOf(call_id)?.task?.view.apply(record);
    },
    permission_resolved: (record) => endWait(record.metadata.permission_id, record),
    tool_progress({ metadata }) {
      const call = calls.get(metadata.call_id);
      if (call) call.output = endOf(call.output + metadata.chunk, TAIL_CHARACTERS);
    },
    tool_result: finishCall,
    task_event(record) {
      const { call_id, event } = record.metadata;
      const call = calls.get(call_id);
      if (!call) return;
      if (!call.task) {
        flush();
        enter("done");
        line(`${style.cyan("▸")} ${call.title}`);
        call.task = createTask(style, (printInside) =>
          createView({ ...options, print: printInside, width: () => insideWidth(width()), more: null }),
        );
      }
      call.task.view.apply(readable({ ...record, ...event } as SessionRecord));
    },
    usage({ metadata: { used, size } }) {
      if (size > 0) context = `context ${Math.round((used / size) * 100)} %`;
    },
    file_edit: ({ metadata }) => void diffs.push(metadata.diff),
    notice: ({ metadata }) => note(metadata.text, metadata.level === "info" ? style.dim : style.yellow),
    sandbox_violation: ({ metadata }) => note(`blocked: ${metadata.reason}`, style.yellow),
    question_asked(record) {
      const { question_id, call_id, question, options } = record.metadata;
      flush();
      enter("done");
      waits.begin(question_id, call_id, record.ts);
      callOf(call_id)?.task?.view.apply(record);
      line(wrap(style.bold(plainLine(question)), width(), `${style.yellow("?")} `));
      for (const [at, { name }] of options.entries()) line(wrap(plainLine(name), width(), `  ${at + 1}. `));
      line(style.dim(options.length > 0 ? "  type a number, or an answer of your own" : "  type an answer"));
    },
    question_answered(record) {
      const { question_id, answer } = record.metadata;
      endWait(question_id, record);
      note(answer === null ? "no answer" : `answer: ${plainLine(answer)}`);
    },
    job_started({ metadata: { job_id, call_id, command } }) {
      note(`${job_id} continues: ${plainLine(command)}`);
      jobs.add(job_id, calls.get(call_id)?.output ?? "");
    },
    job_output: ({ metadata: { job_id, chunk } }) => jobs.add(job_id, chunk),
    job_ended({ metadata: { job_id, exit_code, by } }) {
      note(`${job_id} ended${by === "itself" ? ` (exit code ${exit_code ?? "none"})` : ` by ${by}`}`);
      const output = jobs.end(job_id);
      if (by === "itself" && exit_code !== 0) folds.tail(output);
    },
    compaction: () => note("the conversation so far was summed up to make room"),
    error: ({ metadata }) => note(metadata.message, style.red),
    cancelled({ ts }) {
      note("cancelled", style.yellow);
      endTurn(ts, []);
    },
    agent_result: (record) => endTurn(record.ts, factsOf(record)),
    undo: rewound,
    redo: rewound,
    model_changed: changed,
    mode_changed: changed,
    approval_changed: changed,
  };

  return {
    lines() {
      const [call] = calls.values();
      const tasks = tasksNow(calls.values(), clock());
      if (tasks.length > 0) return tasks.map(style.dim);
      if (call) return tailOf(call.output).map((one) => style.dim(`  ${one}`));
      return thought.isEmpty ? markdown.pending() : thought.tail(THOUGHT_LINES);
    },
    label(now) {
      const [first, ...more] = calls.values();
      if (!first) return doing;
      const others = more.length > 0 ? ` (and ${more.length} more)` : "";
      return `${first.title} ${formatDuration(now - first.startedAt - first.waitedMs)}${others}`;
    },
    jobLines: (running) => jobs.lines(running).map(style.dim),
    unfold: folds.unfold,
    end: flush,
    apply(record) {
      if (whatEnds(record) === "waiting") note("a waiting prompt was cancelled", style.yellow);
      else if (Object.hasOwn(rows, record.type)) (rows[record.type] as (record: SessionRecord) => void)(record);
    },
    get ended() {
      return toolCalls;
    },
  };
}

/** The last lines that a running call has printed. */
function tailOf(output: string): string[] {
  return output === "" ? [] : plain(output).trimEnd().split("\n").slice(-TAIL_LINES);
}

/** A prompt as the conversation shows it. */
export function promptLines(text: string, style: Style, width?: number): string {
  const lines = plain(text).split("\n");
  const shown = folded(lines, 12, (hidden) => style.dim(`… ${hidden} more lines`));
  return shown.map((one, at) => wrap(startOf(one, 2000), width, at === 0 ? style.bold("> ") : "  ")).join("\n");
}
