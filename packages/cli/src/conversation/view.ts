/** Records of a session -> what a person sees of them. Prints whole lines, and says what to show while something runs. */
import type { RecordOf, RecordType, SessionRecord } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import { createMarkdownStream } from "../terminal/markdown.js";
import { paintOf } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";
import { plain, plainLine } from "../terminal/text.js";

interface ViewOptions {
  readonly style: Style;
  readonly print: (text: string) => void;
  /** Columns to wrap text at; undefined: never. */
  readonly width: () => number | undefined;
  readonly clock: () => number;
}

interface OpenCall {
  readonly title: string;
  readonly startedAt: number;
  /** The last line it put out. */
  tail: string;
}

export function createView({ style, print, width, clock }: ViewOptions) {
  const markdown = createMarkdownStream(style, width);
  const calls = new Map<string, OpenCall>();
  let diffs: string[] = [];
  let startedAt: string | null = null;
  let toolCalls = 0;
  /** A blank line separates what was said from what was done. */
  let last: "said" | "done" | "none" = "none";
  let doing = "";

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
  const flush = () => {
    const rest = markdown.end();
    if (rest !== "") say(`${rest}\n`);
  };
  const note = (text: string, paint = style.dim) => {
    flush();
    enter("done");
    for (const part of plain(text).split("\n")) line(paint(part));
  };

  const finishCall = ({ metadata }: RecordOf<"tool_result">) => {
    const call = calls.get(metadata.call_id);
    calls.delete(metadata.call_id);
    toolCalls++;
    flush();
    enter("done");
    const took = style.dim(formatDuration(metadata.duration_ms));
    const title = call?.title ?? "tool";
    if (metadata.success) line(`${style.green("✓")} ${title} ${took}`);
    else
      line(
        `${style.red("✗")} ${title} ${took} ${style.red(startOf(plainLine(metadata.error ?? metadata.output), 200))}`,
      );
    for (const diff of diffs) for (const shown of renderDiff(diff, style)) line(`  ${shown}`);
    diffs = [];
  };

  const endTurn = (ts: string, facts: readonly string[]) => {
    flush();
    calls.clear();
    const took = startedAt === null ? [] : [formatDuration(Date.parse(ts) - Date.parse(startedAt))];
    if (facts.length > 0) line(style.dim([...facts, ...took].join(" · ")));
    print("\n");
    last = "none";
    startedAt = null;
    toolCalls = 0;
    doing = "";
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
      line(`${style.bold("> ")}${plain(metadata.text)}${from}`);
      last = "none";
    },
    turn_start({ ts }) {
      startedAt = ts;
      doing = "working";
    },
    text_delta({ metadata }) {
      say(markdown.write(metadata.text));
      doing = markdown.pending() || "writing";
    },
    thought_delta() {
      doing = "thinking";
    },
    tool_call({ metadata }) {
      flush();
      calls.set(metadata.call_id, { title: plainLine(metadata.title), startedAt: clock(), tail: "" });
    },
    permission_request() {
      flush();
      enter("done");
    },
    tool_progress({ metadata }) {
      const call = calls.get(metadata.call_id);
      const tail = plainLine(metadata.chunk.trimEnd().split("\n").at(-1) ?? "");
      if (call && tail) call.tail = tail;
    },
    tool_result(record) {
      finishCall(record);
      doing = "working";
    },
    file_edit: ({ metadata }) => void diffs.push(metadata.diff),
    notice: ({ metadata }) => note(metadata.text, metadata.level === "info" ? style.dim : style.yellow),
    sandbox_violation: ({ metadata }) => note(`blocked: ${metadata.reason}`, style.yellow),
    compaction: () => note("the conversation so far was summed up to make room"),
    error: ({ metadata }) => note(metadata.message, style.red),
    cancelled({ ts }) {
      note("cancelled", style.yellow);
      endTurn(ts, []);
    },
    agent_result: (record) => endTurn(record.ts, factsOf(record, toolCalls)),
    undo: rewound,
    redo: rewound,
    model_changed: changed,
    mode_changed: changed,
    approval_changed: changed,
  };

  return {
    /** What is going on at the end of the log, in a few words. */
    label(now: number) {
      const [first, ...more] = calls.values();
      if (!first) return doing;
      const others = more.length > 0 ? ` (and ${more.length} more)` : "";
      const tail = first.tail === "" ? "" : `  ${first.tail}`;
      return `${first.title} ${formatDuration(now - first.startedAt)}${others}${tail}`;
    },
    apply(record: SessionRecord) {
      if (Object.hasOwn(rows, record.type)) (rows[record.type] as (record: SessionRecord) => void)(record);
    },
  };
}

// --- internal ---

/** What a turn took; a slash command takes nothing worth telling. */
function factsOf({ metadata }: RecordOf<"agent_result">, toolCalls: number): string[] {
  if (metadata.steps === 0) return [];
  return [
    count(metadata.steps, "step"),
    ...(toolCalls > 0 ? [count(toolCalls, "tool call")] : []),
    ...(metadata.cost > 0 ? [`$${metadata.cost.toFixed(4)}`] : []),
  ];
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** `340ms`, `4.2s`, `3m 05s`. Rounded before it is split, so that no part says 60. */
function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
}

/** Longer diffs are summed up: the files tell the rest. */
const MOST_LINES = 40;

/** A unified diff, coloured, and cut when it is long; nothing where nothing changed. */
function renderDiff(diff: string, style: Style): string[] {
  const all = plain(diff).split("\n");
  // What stands before the first hunk names the file, which the tool's own line does.
  const start = all.findIndex((line) => line.startsWith("@@"));
  if (start < 0) return [];
  const lines = all.slice(start).filter((line) => !line.startsWith("\\ "));
  while (lines.at(-1)?.trim() === "") lines.pop();
  const shown = lines.slice(0, MOST_LINES).map((line) => paintOf(line, style)(line));
  const hidden = lines.length - shown.length;
  return hidden > 0 ? [...shown, style.dim(`… ${hidden} more lines`)] : shown;
}
