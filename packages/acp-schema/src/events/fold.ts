/** The rules of the fold of a log: the state is one plain object, and one handler for each record type changes it. */
import type { Message } from "./message.js";
import type { Metadata, RecordType } from "./metadata.js";
import { FLAG_OPTIONS, type Flags, isFlagOption, MODE_FLAGS, MODES } from "./modes.js";
import { createParts, type Parts, summedUp, textOf } from "./parts.js";
import type { SessionEvent } from "./record.js";
import type { SessionUsage, TurnResult, TurnUsage, TurnView } from "./turn-view.js";
import type { EngineOption, Json } from "./value.js";

/** The settings that clients have changed since the session was made or its settings were reset. The others are unchanged. */
export interface ChangedSettings extends Partial<Flags> {
  readonly model?: string;
  readonly agent?: string;
  readonly options: Readonly<Record<string, string | boolean>>;
}

/** The latest values of everything besides the conversation and the settings. */
export interface Facts {
  title: string | null;
  isShared: boolean;
  /** Whether the session was ended for good. Its log stays as a record. */
  isTornDown: boolean;
  /** When a turn ended last. */
  endedAt: string | null;
  usage: SessionUsage | null;
  toolCalls: number;
  steps: number;
  lastResult: { readonly success: boolean; readonly error: string | null } | null;
  firstPrompt: string | null;
  /** The state that the engine remembered last. */
  memory: Json | null;
  /** The settings and slash commands that the engine itself offers. */
  engineOptions: readonly EngineOption[];
  engineCommands: Metadata<"commands_changed">["commands"];
}

export type Fold = ReturnType<typeof newFold>;

export function newFold(keepsMessages: boolean) {
  const facts: Facts = {
    title: null,
    isShared: false,
    isTornDown: false,
    endedAt: null,
    usage: null,
    toolCalls: 0,
    steps: 0,
    lastResult: null,
    firstPrompt: null,
    memory: null,
    engineOptions: [],
    engineCommands: [],
  };
  return {
    turns: [] as TurnView[],
    facts,
    settings: { options: {} } as ChangedSettings,
    openCalls: new Map<string, Metadata<"tool_call">>(),
    openPermissions: new Map<string, Metadata<"permission_request">>(),
    openQuestions: new Map<string, Metadata<"question_asked">>(),
    answered: new Set<string>(),
    openJobs: new Map<string, Metadata<"job_started">>(),
    /** Null if messages are not kept. */
    reply: keepsMessages ? createParts() : null,
    cleared: 0,
    /** Whether any turn was ever undone. If not, no turn can be cut off, and the search for such turns is skipped. */
    anyUndone: false,
    summaries: [] as { text: string; fromTurn: number; skipped: number; by: TurnView | undefined }[],
    counts: new Map<string, number>(),
    marks: [] as { readonly seq: number; readonly counts: ReadonlyMap<string, number> }[],
    seq: 0,
  };
}

/** An event with the time from its log, if it comes from one. */
export type Timed = SessionEvent & { readonly ts?: string };

/** Applies one upgraded record. */
export function take(fold: Fold, record: Timed): void {
  if (!Object.hasOwn(HANDLERS, record.type)) return;
  // Each turn has at least one record. A turn number above the number of records would make an array of holes.
  if (record.turn !== null && record.turn >= fold.seq) return;
  const turn = record.turn === null ? undefined : fold.turns[record.turn];
  (HANDLERS[record.type] as Handler<RecordType>)(fold, record.metadata, turn, record);
}

export function undoable({ turns, cleared }: Fold): TurnView[] {
  return turns.filter((turn) => turn.number >= cleared && turn.ended && !turn.undone && hasEffect(turn));
}

export function redoable({ turns, cleared }: Fold): TurnView[] {
  return turns.filter((turn) => turn.number >= cleared && turn.undone && !turn.cutOff);
}

/** The turns whose files are undone or redone with the given turns, in order. Turns without a step belong to the turn before. */
export function filesOf(fold: Fold, taken: readonly TurnView[], direction: "undo" | "redo"): number[] {
  const first = taken[0]?.number ?? Number.POSITIVE_INFINITY;
  if (direction === "undo")
    return numbersOf(fold, ({ number, ended, filesUndone }) => number >= first && ended && !filesUndone).reverse();
  const next = redoable(fold)[taken.length]?.number ?? Number.POSITIVE_INFINITY;
  return numbersOf(fold, (turn) => turn.number >= first && turn.number < next && turn.filesUndone && !turn.cutOff);
}

export function numbersOf({ turns }: Fold, which: (turn: TurnView) => boolean): number[] {
  return turns.filter(which).map(({ number }) => number);
}

/** Adds the cost and calls of a turn in an older log, which has them only in the result. */
export function addOlderTotals(facts: Facts, { tool_calls_total, cost }: Metadata<"agent_result">): void {
  facts.toolCalls += tool_calls_total;
  const { total_usd, ...tokens } = facts.usage ?? NOTHING_USED;
  facts.usage = { ...tokens, total_usd: total_usd + cost };
}

// --- internal ---

type Handler<T extends RecordType> = (
  fold: Fold,
  metadata: Metadata<T>,
  turn: TurnView | undefined,
  record: Timed,
) => void;

const addPart: Handler<"text_delta" | "thought_delta" | "part_end"> = ({ reply }, _metadata, _turn, record) =>
  reply?.apply(record as Parameters<Parts["apply"]>[0]);

/** The handlers by record type. Other types change nothing. */
const HANDLERS: { readonly [T in RecordType]?: Handler<T> } = {
  user_message({ turns, facts, seq, settings: { agent = null } }, { text, content, key = null }, _turn, record) {
    const number = record.turn ?? turns.length;
    facts.firstPrompt ??= text;
    const prompt = content ? { text, content } : { text };
    turns[number] = newTurn({ number, seq, prompt, key, agent, createdAt: record.ts ?? null });
  },
  turn_start(_fold, _metadata, turn) {
    if (turn) turn.started = true;
  },
  step_start(fold, _metadata, turn) {
    fold.facts.steps++;
    if (turn) takesEffect(fold, turn).steps++;
  },
  text_delta: addPart,
  thought_delta: addPart,
  part_end: addPart,
  tool_call(fold, metadata, _turn, record) {
    fold.facts.toolCalls++;
    fold.openCalls.set(metadata.call_id, metadata);
    addPart(fold, metadata as never, undefined, record);
  },
  tool_update({ openCalls }, { call_id, content: _content, ...changed }) {
    const call = openCalls.get(call_id);
    if (call) openCalls.set(call_id, { ...call, ...changed } as typeof call);
  },
  tool_result(fold, { call_id, output, error, success }, turn) {
    const call = fold.openCalls.get(call_id);
    fold.openCalls.delete(call_id);
    endReply(fold, turn);
    if (call && success && CHANGING.has(call.kind) && Array.isArray(call.locations))
      for (const location of call.locations) addEdited(turn, location);
    // The same text that the model got during the turn, because a provider may check that the conversation is unchanged.
    if (call && turn && fold.reply)
      turn.messages.push({ role: "tool", id: call_id, name: call.tool, output: output || error || "", success });
  },
  file_edit: (_fold, metadata, turn) => addEdited(turn, metadata),
  step_end: (fold, _metadata, turn) => endReply(fold, turn),
  permission_request: ({ openPermissions }, metadata) => void openPermissions.set(metadata.permission_id, metadata),
  permission_resolved({ openPermissions, answered }, { permission_id }) {
    openPermissions.delete(permission_id);
    answered.add(permission_id);
  },
  question_asked: ({ openQuestions }, metadata) => void openQuestions.set(metadata.question_id, metadata),
  question_answered({ openQuestions, answered }, { question_id }) {
    openQuestions.delete(question_id);
    answered.add(question_id);
  },
  job_started: ({ openJobs }, metadata) => void openJobs.set(metadata.job_id, metadata),
  job_ended: ({ openJobs }, { job_id }) => void openJobs.delete(job_id),
  usage({ facts }, metadata, turn) {
    if (turn) addTokens(turn.usage, metadata, facts.usage);
    facts.usage = { ...metadata };
  },
  turn_end(_fold, { stop_reason }, turn) {
    if (turn) turn.stopReason = stop_reason;
  },
  model_changed: (fold, { new: model }) => change(fold, { model }),
  mode_changed(fold, { new: name }) {
    const mode = MODES.find((one) => one === name);
    if (mode) change(fold, MODE_FLAGS[mode]);
  },
  approval_changed: (fold, { new: preset }) => changeOption(fold, "approval", preset),
  config_changed(fold, { id, value }) {
    if (id === "agent") change(fold, { agent: String(value) });
    else if (isFlagOption(id)) change(fold, { [FLAG_OPTIONS[id]]: value === true });
    else changeOption(fold, id, value);
  },
  settings_reset(fold) {
    const { model, agent } = fold.settings;
    fold.settings = { options: {}, ...(model !== undefined && { model }), ...(agent !== undefined && { agent }) };
  },
  title_changed({ facts }, { title }) {
    facts.title = title;
  },
  sharing_changed({ facts }, { shared }) {
    facts.isShared = shared;
  },
  torn_down({ facts }) {
    facts.isTornDown = true;
  },
  agent_session({ facts }, { state }) {
    facts.memory = state;
  },
  options_changed({ facts }, { options }) {
    facts.engineOptions = options;
  },
  commands_changed({ facts }, { commands }) {
    facts.engineCommands = commands;
  },
  error(_fold, { name, message }, turn) {
    if (turn) turn.failure = { name, message };
  },
  compaction(fold, { summary: text, from_turn: fromTurn, from_call }, turn) {
    const skipped = summedUp(fold.turns[fromTurn]?.messages ?? [], from_call);
    fold.summaries.push({ text, fromTurn, skipped, by: turn });
    if (turn) takesEffect(fold, turn).compacted = true;
  },
  cleared(fold) {
    fold.cleared = fold.turns.length;
    fold.summaries = [];
  },
  undo(fold, { turns: count }) {
    rewind(fold, undoable(fold).slice(-count), "undo");
  },
  redo(fold, { turns: count }) {
    rewind(fold, redoable(fold).slice(0, count), "redo");
  },
  agent_result(fold, { output, success, error, steps, cost }, turn, { ts = null }) {
    // Another program's agent may yield no steps; its result then has their number.
    if (turn && turn.steps === 0 && steps > 0) {
      takesEffect(fold, turn).steps = steps;
      fold.facts.steps += steps;
    }
    fold.facts.lastResult = { success, error };
    endTurn(fold, turn, { output, success, error, steps, cost, cancelled: false }, ts);
  },
  cancelled(fold, { output, steps, cost }, turn, { ts = null }) {
    fold.facts.lastResult = { success: false, error: "cancelled" };
    const taken = { steps: steps ?? turn?.steps ?? 0, cost: cost ?? 0 };
    endTurn(fold, turn, { output, success: false, cancelled: true, error: null, ...taken }, ts);
  },
};

function change(fold: Fold, news: Partial<ChangedSettings>): void {
  fold.settings = { ...fold.settings, ...news };
}

function changeOption(fold: Fold, id: string, value: string | boolean): void {
  change(fold, { options: { ...fold.settings.options, [id]: value } });
}

/** Checks the path: the events of an embedder's agent, and the logs of other programs, were not validated. */
function addEdited(turn: TurnView | undefined, place: { readonly path?: unknown } | null): void {
  if (typeof place?.path === "string") turn?.edited.add(place.path);
}

function endReply({ reply }: Fold, turn: TurnView | undefined): void {
  const parts = reply?.take() ?? [];
  if (parts.length > 0) turn?.messages.push({ role: "assistant", parts });
}

function endTurn(fold: Fold, turn: TurnView | undefined, result: TurnResult, ts: string | null): void {
  // The reply so far belongs to the turn that runs, and a prompt may be cancelled while it waits for that turn.
  if (!turn || turn.started || turn.steps > 0) endReply(fold, turn);
  fold.facts.endedAt = ts ?? fold.facts.endedAt;
  if (!turn) return;
  const { output } = result;
  const spoke = turn.messages.some((message) => message.role === "assistant" && textOf(message) !== "");
  // An agent may give its answer only in the result, without streaming it.
  if (output !== "" && fold.reply && !spoke)
    turn.messages.push({ role: "assistant", parts: [{ type: "text", text: output }] });
  turn.result = result;
  turn.ended = true;
  turn.endedAt = ts;
}

function rewind(fold: Fold, taken: readonly TurnView[], direction: "undo" | "redo"): void {
  fold.anyUndone = true;
  for (const number of filesOf(fold, taken, direction)) fold.turns[number]!.filesUndone = direction === "undo";
  for (const turn of taken) turn.undone = direction === "undo";
}

/** Called before an effect of a turn. The first effect makes undone turns impossible to redo. */
function takesEffect({ turns, anyUndone }: Fold, turn: TurnView): TurnView {
  if (anyUndone && !hasEffect(turn)) for (const other of turns) if (other?.filesUndone) other.cutOff = true;
  return turn;
}

function hasEffect({ steps, compacted }: TurnView): boolean {
  return steps > 0 || compacted;
}

/** Kinds of calls that change the files they name. */
const CHANGING: ReadonlySet<string> = new Set(["edit", "delete", "move"]);

const NO_TOKENS: TurnUsage = { input: 0, output: 0, cache: 0, reasoning: 0 };
const NOTHING_USED: SessionUsage = { ...NO_TOKENS, total_usd: 0, priced: true, used: 0, size: 0 };

/** A turn whose prompt was accepted and that has not begun. */
function newTurn(asked: Pick<TurnView, "number" | "seq" | "prompt" | "key" | "agent" | "createdAt">): TurnView {
  return {
    ...asked,
    endedAt: null,
    started: false,
    ended: false,
    undone: false,
    filesUndone: false,
    cutOff: false,
    steps: 0,
    compacted: false,
    edited: new Set(),
    stopReason: null,
    result: null,
    failure: null,
    usage: { ...NO_TOKENS },
    messages: [{ role: "user", ...asked.prompt } as Message],
  };
}

/** Usage records have totals of the session, so a turn's usage is their increase during the turn. */
function addTokens(turn: TurnUsage, now: SessionUsage, before: SessionUsage | null): void {
  for (const key of ["input", "output", "cache", "reasoning"] as const) {
    turn[key] += Math.max(0, now[key] - (before?.[key] ?? 0));
  }
}
