/** Records as items of a conversation: a reducer with a rule per type. What it does not know is not shown. */
import {
  type Decision,
  endsTurn,
  type Metadata,
  type RecordType,
  type ResolvedBy,
  type SessionRecord,
} from "@chimera/acp-schema/events";
import { signal } from "@preact/signals-core";
import { createBlocks } from "../text/blocks.js";
import type { CallItem, Item, NoteItem, PlanItem, ShownTurn, TextItem } from "./item.js";

export interface Projection {
  readonly turns: readonly ShownTurn[];
  /** Counts up whenever an item or a turn is added. */
  readonly added: number;
  apply(record: SessionRecord): void;
  /** A line of the page's own, in its place. */
  note(level: NoteItem["level"], text: string): void;
  /** The items that changed since the last call. */
  takeChanged(): readonly Item[];
}

export function createProjection(): Projection {
  const state = createState();
  return {
    turns: state.turns,
    get added() {
      return state.added;
    },
    apply(record) {
      if (!Object.hasOwn(RULES, record.type)) return;
      (RULES[record.type] as Rule<RecordType>)(state, record.metadata, record);
      if (endsTurn(record.type)) endText(state, record.turn);
    },
    note: (level, text) => note(state, null, level, text),
    takeChanged() {
      const items = [...state.changed];
      state.changed.clear();
      return items;
    },
  };
}

// --- internal ---

/** A tool's output on the screen: its end. */
const PROGRESS_CHARS = 64 * 1024;

type State = ReturnType<typeof createState>;

function createState() {
  return {
    turns: [] as ShownTurn[],
    byNumber: new Map<number, ShownTurn>(),
    calls: new Map<string, CallItem>(),
    /** The call that each permission request and each question of the agent is about. */
    asked: new Map<string, string>(),
    /** The text that still grows, by its turn: the prompt of a later turn does not end it. */
    open: new Map<number | null, TextItem>(),
    changed: new Set<Item>(),
    /** By the call of each task. */
    tasks: new Map<string, Projection>(),
    added: 0,
  };
}

type Rule<T extends RecordType> = (state: State, metadata: Metadata<T>, record: SessionRecord) => void;

const say: Rule<"text_delta" | "thought_delta"> = (state, { text }, { type, turn }) => {
  const kind = type === "text_delta" ? "text" : "thought";
  let item = state.open.get(turn);
  if (item?.type !== kind) {
    endText(state, turn);
    item = { type: kind, ...fresh(state), blocks: createBlocks(), size: 0, isOpen: true };
    state.open.set(turn, item);
    add(state, turn, item);
  }
  item.blocks.push(text);
  item.size += text.length;
  state.changed.add(item);
};

const changed =
  (what: string): Rule<"mode_changed" | "model_changed" | "approval_changed"> =>
  (state, metadata, { turn }) =>
    note(state, turn, "info", `${what}: ${metadata.new}`);

const rewound =
  (verb: string): Rule<"undo" | "redo"> =>
  (state, { turns, files, conflicts }, { turn }) => {
    const done = `${verb} ${plural(turns, "turn")}, ${plural(files.length, "file")}`;
    const left = conflicts.length > 0 ? `. Changed since, and left alone: ${conflicts.join(", ")}` : "";
    note(state, turn, conflicts.length > 0 ? "warning" : "info", done + left);
  };

/** Record type -> what it adds or changes. */
const RULES: { readonly [T in RecordType]?: Rule<T> } = {
  user_message(state, { text, content = [] }, { turn }) {
    add(state, turn, { type: "prompt", ...fresh(state), text, content });
  },
  text_delta: say,
  thought_delta: say,
  part_end: (state, _metadata, { turn }) => endText(state, turn),
  step_end: (state, _metadata, { turn }) => endText(state, turn),
  tool_call(state, { call_id, tool, args, kind, title }, { turn }) {
    endText(state, turn);
    const call: CallItem = {
      type: "call",
      ...fresh(state),
      id: call_id,
      tool,
      title,
      kind,
      args,
      state: "running",
      progress: "",
      output: "",
      error: null,
      durationMs: null,
      content: [],
      edits: [],
      inside: [],
      decision: null,
    };
    state.calls.set(call_id, call);
    add(state, turn, call);
  },
  tool_update: (state, { call_id, locations: _locations, ...news }) =>
    update(state, call_id, news as Partial<CallItem>),
  tool_progress(state, { call_id, chunk }) {
    const call = state.calls.get(call_id);
    update(state, call_id, { progress: ((call?.progress ?? "") + chunk).slice(-PROGRESS_CHARS) });
  },
  tool_result(state, { call_id, success, output, error = null, duration_ms, content }) {
    const ended = { state: success ? "done" : "failed", output, error, durationMs: duration_ms } as const;
    update(state, call_id, content ? { ...ended, content } : ended);
  },
  // The request itself is shown with its question; the card shows only the result.
  permission_request: (state, { permission_id, call_id }) => waits(state, permission_id, call_id),
  permission_resolved: (state, { permission_id, decision, by }) =>
    answered(state, permission_id, `${ANSWERED[decision]}${DECIDED_BY[by]}`),
  question_asked: (state, { question_id, call_id }) => waits(state, question_id, call_id),
  question_answered: (state, { question_id, answer }) => answered(state, question_id, answer ?? "no answer"),
  task_event(state, { call_id, event }) {
    const task = state.tasks.get(call_id) ?? createProjection();
    state.tasks.set(call_id, task);
    task.apply({ ...event, turn: 0 } as SessionRecord);
    for (const item of task.takeChanged()) state.changed.add(item);
    update(state, call_id, { inside: task.turns.flatMap(({ items }) => items) });
  },
  // A job outlives its call, so it is a card of its own.
  job_started: (state, { job_id, command }, record) =>
    RULES.tool_call!(
      state,
      { call_id: job_id, tool: "job", args: { command }, kind: "execute", title: command, locations: [] },
      record,
    ),
  job_output: (state, { job_id, stream, chunk }, record) =>
    RULES.tool_progress!(state, { call_id: job_id, stream, chunk }, record),
  job_ended: (state, { job_id, exit_code, by }) =>
    update(state, job_id, {
      state: by === "itself" && exit_code !== 0 ? "failed" : "done",
      decision:
        by === "itself" ? `exit code ${exit_code ?? "unknown"}` : `ended by the ${by === "stop" ? "agent" : by}`,
    }),
  file_edit(state, edit, { turn }) {
    const call = callsOf(state, turn).findLast((one) => one.durationMs === null);
    if (call) update(state, call.id, { edits: [...call.edits, edit] });
  },
  plan(state, { entries }, { turn }) {
    const shown = turnOf(state, turn).items.find((item): item is PlanItem => item.type === "plan");
    if (!shown) return add(state, turn, { type: "plan", ...fresh(state), entries });
    shown.entries = entries;
    state.changed.add(shown);
  },
  content(state, { block }, { turn }) {
    endText(state, turn);
    add(state, turn, { type: "content", ...fresh(state), block });
  },
  notice: (state, { level, text }, { turn }) => note(state, turn, level, text),
  error: (state, { message }, { turn }) => note(state, turn, "error", message),
  sandbox_violation: (state, { reason }, { turn }) => note(state, turn, "warning", reason),
  mode_changed: changed("Mode"),
  model_changed: changed("Model"),
  approval_changed: changed("Approval"),
  compaction: (state, _metadata, { turn }) => note(state, turn, "info", "The conversation so far was summed up."),
  cleared: (state, _metadata, { turn }) => note(state, turn, "info", "The agent starts afresh from here."),
  forked: (state, { from }, { turn }) => note(state, turn, "info", `Forked from ${from}`),
  undo: rewound("Undone:"),
  redo: rewound("Redone:"),
  agent_result(state, { output, success, error }, { turn }) {
    const { items } = turnOf(state, turn);
    const spoke = items.some((item) => item.type === "text");
    if (output !== "" && !spoke) say(state, { text: output }, { type: "text_delta", turn } as SessionRecord);
    const said = items.some((item) => item.type === "note" && item.text === error);
    if (!success && error && !said && error !== output) note(state, turn, "error", error);
  },
  cancelled: (state, _metadata, { turn }) => note(state, turn, "warning", "Cancelled."),
};

function fresh(state: State) {
  return { key: `i${state.added}`, changed: signal(0) };
}

/** What belongs to no turn is shown where the conversation is. */
function turnOf({ turns, byNumber }: State, number: number | null): ShownTurn {
  const place = number ?? turns.at(-1)?.number ?? -1;
  const known = byNumber.get(place);
  if (known) return known;
  const turn: ShownTurn = { number: place, items: [] };
  byNumber.set(place, turn);
  turns.push(turn);
  if ((turns.at(-2)?.number ?? -1) > place) turns.sort((a, b) => a.number - b.number);
  return turn;
}

function callsOf(state: State, turn: number | null): CallItem[] {
  return turnOf(state, turn).items.filter((item) => item.type === "call");
}

function add(state: State, turn: number | null, item: Item): void {
  turnOf(state, turn).items.push(item);
  state.added++;
}

function note(state: State, turn: number | null, level: NoteItem["level"], text: string): void {
  add(state, turn, { type: "note", ...fresh(state), level, text });
}

function update(state: State, id: string, news: Partial<CallItem>): void {
  const call = state.calls.get(id);
  if (!call) return;
  Object.assign(call, news);
  state.changed.add(call);
}

function waits(state: State, questionId: string, callId: string): void {
  state.asked.set(questionId, callId);
  update(state, callId, { state: "waiting" });
}

/** Marks the call that a question was about as running, with the answer. */
function answered(state: State, questionId: string, decision: string): void {
  const callId = state.asked.get(questionId);
  state.asked.delete(questionId);
  if (callId !== undefined) update(state, callId, { state: "running", decision });
}

const ANSWERED: Readonly<Record<Decision, string>> = {
  allow: "allowed",
  always: "always allowed",
  deny: "rejected",
  never: "always rejected",
};

/** What decided where no person did. */
const DECIDED_BY: Readonly<Record<ResolvedBy, string>> = {
  client: "",
  rule: " by a rule",
  timeout: " without an answer in time",
  cancel: " by the cancel",
  eviction: " without an answer",
};

function endText(state: State, turn: number | null): void {
  const item = state.open.get(turn);
  if (!item) return;
  state.open.delete(turn);
  item.blocks.end();
  item.isOpen = false;
  state.changed.add(item);
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
