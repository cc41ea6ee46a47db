/** The fold of a session's log in the plainest way, written from what the records mean and with no code of the session's own. */
import type { Part, SessionRecord } from "@chimera/acp-schema/events";
import type { OwnedSession } from "../src/index.js";

/** The start settings of these tests. */
export const START = { model: "m0", options: { approval: "auto", tone: "dry" } };

export interface State {
  readonly model: string;
  readonly agent: string;
  readonly flags: readonly boolean[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly title: string | null;
  readonly isShared: boolean;
  readonly memory: unknown;
  readonly usage: unknown;
  readonly messages: readonly string[];
  /** What the agent said in each turn that has ended, with the ids of its calls in brackets. */
  readonly said: readonly (string | null)[];
  readonly undoable: readonly number[];
  readonly redoable: readonly number[];
  readonly outcomes: readonly (string | undefined)[];
  /** Turns without a last record: those that were started, and those that wait. */
  readonly running: readonly number[];
  readonly waiting: readonly number[];
  /** The calls that wait: for a permission, an answer, or a result. */
  readonly permissions: readonly string[];
  readonly questions: readonly string[];
  readonly calls: readonly string[];
  readonly jobs: readonly string[];
}

/** The same by the session's own fold. */
export function stateOf({ settings, conversation, isShared, title }: OwnedSession): State {
  const open = conversation.turns.filter(({ ended }) => !ended);
  return {
    model: settings.model,
    agent: settings.agent,
    flags: [settings.autoApproveWrites, settings.autoApproveExecute, settings.readOnly],
    options: { ...settings.options },
    title,
    isShared,
    memory: conversation.facts.memory,
    usage: conversation.facts.usage,
    messages: conversation
      .messages(Number.POSITIVE_INFINITY)
      .flatMap((message) => (message.role === "user" ? message.text : [])),
    said: conversation.turns.map(({ ended, messages }) =>
      ended ? messages.flatMap((one) => (one.role === "assistant" ? one.parts.map(partOf) : [])).join("") : null,
    ),
    undoable: conversation.undoable().map(({ number }) => number),
    redoable: conversation.redoable().map(({ number }) => number),
    outcomes: conversation.turns.map(({ result }) => result?.output),
    running: open.filter(({ started }) => started).map(({ number }) => number),
    waiting: open.filter(({ started }) => !started).map(({ number }) => number),
    permissions: [...conversation.openPermissions.values()].map(({ call_id }) => call_id),
    questions: [...conversation.openQuestions.values()].map(({ call_id }) => call_id),
    calls: [...conversation.openCalls.keys()],
    jobs: [...conversation.openJobs.keys()],
  };
}

/** @param found the files that the session found when it was made, or forked. */
export function plainFold(
  records: readonly SessionRecord[],
  found: Readonly<Record<string, string>>,
): { readonly state: State; readonly files: Readonly<Record<string, string>> } {
  const fold = newFold();
  for (const record of records) {
    const metadata = record.metadata as Metadata;
    FOLDS[record.type]?.(fold, metadata, record.turn === null ? undefined : fold.turns[record.turn]);
  }
  const { turns } = fold;
  const numbers = effective(fold);
  const seenFrom = fold.summaries.findLast(({ by }) => !by.isUndone)?.from ?? 0;
  const open = numbersOf(turns, ({ isDone }) => !isDone);
  const files = { ...found };
  for (const { edits, isUndone } of turns) {
    for (const { path, text } of isUndone ? [] : edits) {
      if (text === null) delete files[path];
      else files[path] = text;
    }
  }
  const { model, agent, flags, options, title, isShared, memory, usage } = fold;
  const state = {
    ...{ model, agent, flags, options, title, isShared, memory, usage },
    messages: numbers
      .filter((number) => number >= seenFrom && !turns[number]!.isUndone)
      .map((number) => turns[number]!.prompt),
    said: turns.map(({ said, output, isDone }) =>
      isDone ? said + (/^(\[[^\]]*\])*$/.test(said) ? (output ?? "") : "") : null,
    ),
    undoable: numbers.filter((number) => turns[number]!.isDone && !turns[number]!.isUndone),
    redoable: numbers.filter((number) => turns[number]!.isUndone && !turns[number]!.isCutOff),
    outcomes: turns.map(({ output }) => output),
    running: open.filter((number) => turns[number]!.isStarted),
    waiting: open.filter((number) => !turns[number]!.isStarted),
    permissions: [...fold.permissions.values()],
    questions: [...fold.questions.values()],
    calls: [...fold.calls],
    jobs: [...fold.jobs],
  };
  return { state, files };
}

// --- internal ---

interface PlainTurn {
  readonly prompt: string;
  edits: { readonly path: string; readonly text: string | null }[];
  steps: number;
  isStarted: boolean;
  isDone: boolean;
  isUndone: boolean;
  isCutOff: boolean;
  output: string | undefined;
  /** Its text and its calls, in order. The output stands for the text if there was none. */
  said: string;
}

function partOf(part: Part): string {
  return part.type === "call" ? `[${part.id}]` : part.text;
}

// biome-ignore lint/suspicious/noExplicitAny: each row below reads what its type carries.
type Metadata = any;
type PlainFold = ReturnType<typeof newFold>;
type Row = (fold: PlainFold, metadata: Metadata, turn: PlainTurn | undefined) => void;

function newFold() {
  return {
    model: START.model,
    agent: "build",
    flags: [false, false, false],
    options: { ...START.options } as Record<string, unknown>,
    title: null as string | null,
    isShared: false,
    memory: null as unknown,
    usage: null as unknown,
    turns: [] as PlainTurn[],
    cleared: 0,
    permissions: new Map<string, string>(),
    questions: new Map<string, string>(),
    calls: new Set<string>(),
    jobs: new Set<string>(),
    summaries: [] as { readonly from: number; readonly by: PlainTurn }[],
  };
}

function numbersOf(turns: readonly PlainTurn[], which: (turn: PlainTurn) => boolean): number[] {
  return turns.flatMap((turn, number) => (which(turn) ? [number] : []));
}

/** Turns that the model was asked in, since the conversation was cleared. */
function effective({ turns, cleared }: PlainFold): number[] {
  return numbersOf(turns, ({ steps }) => steps > 0).filter((number) => number >= cleared);
}

const FLAGS = ["auto_approve_writes", "auto_approve_execute", "read_only"];
const MODES: Readonly<Record<string, boolean[]>> = {
  auto: [true, true, false],
  review: [false, false, false],
  "read-only": [false, false, true],
};

const endTurn: Row = (_fold, { output }, turn) => void (turn && Object.assign(turn, { isDone: true, output }));

const FOLDS: Readonly<Record<string, Row>> = {
  user_message({ turns }, { text: prompt }) {
    const turn = { prompt, edits: [], steps: 0, isStarted: false, isDone: false, isUndone: false, isCutOff: false };
    turns.push({ ...turn, output: undefined, said: "" });
  },
  turn_start: (_fold, _metadata, turn) => void (turn && Object.assign(turn, { isStarted: true })),
  step_start({ turns }, _metadata, turn) {
    if (!turn) return;
    if (turn.steps === 0) for (const other of turns) if (other.isUndone) other.isCutOff = true;
    turn.steps++;
  },
  /** These tests write the new text of a file in the place of its diff. */
  file_edit: (_fold, { path, diff, change }, turn) =>
    void turn?.edits.push({ path, text: change === "delete" ? null : diff }),
  agent_result: endTurn,
  cancelled: endTurn,
  text_delta: (_fold, { text }, turn) => void (turn && Object.assign(turn, { said: turn.said + text })),
  tool_call({ calls }, { call_id }, turn) {
    calls.add(call_id);
    if (turn) turn.said += `[${call_id}]`;
  },
  tool_result: ({ calls }, { call_id }) => void calls.delete(call_id),
  permission_request: ({ permissions }, { permission_id, call_id }) => void permissions.set(permission_id, call_id),
  permission_resolved: ({ permissions }, { permission_id }) => void permissions.delete(permission_id),
  question_asked: ({ questions }, { question_id, call_id }) => void questions.set(question_id, call_id),
  question_answered: ({ questions }, { question_id }) => void questions.delete(question_id),
  usage: (fold, metadata) => void Object.assign(fold, { usage: metadata }),
  agent_session: (fold, { state }) => void Object.assign(fold, { memory: state }),
  title_changed: (fold, { title }) => void Object.assign(fold, { title }),
  sharing_changed: (fold, { shared }) => void Object.assign(fold, { isShared: shared }),
  model_changed: (fold, { new: model }) => void Object.assign(fold, { model }),
  mode_changed: (fold, { new: mode }) => void Object.assign(fold, { flags: MODES[mode] }),
  approval_changed: ({ options }, { new: approval }) => void Object.assign(options, { approval }),
  config_changed(fold, { id, value }) {
    if (FLAGS.includes(id)) fold.flags = fold.flags.map((flag, at) => (FLAGS[at] === id ? value === true : flag));
    else if (id === "agent") fold.agent = value;
    else fold.options[id] = value;
  },
  settings_reset: (fold) => void Object.assign(fold, { flags: MODES["review"], options: { ...START.options } }),
  cleared: (fold) => void Object.assign(fold, { cleared: fold.turns.length, summaries: [] }),
  compaction: ({ summaries }, { from_turn: from }, by) => void (by && summaries.push({ from, by })),
  job_started: ({ jobs }, { job_id }) => void jobs.add(job_id),
  job_ended: ({ jobs }, { job_id }) => void jobs.delete(job_id),
  /** Undo of a fork does not reach the files of turns that it was given. */
  forked({ turns }) {
    for (const turn of turns) turn.edits = [];
  },
  undo(fold, { turns: count }) {
    const taken = effective(fold).filter((number) => fold.turns[number]!.isDone && !fold.turns[number]!.isUndone);
    for (const number of taken.slice(-count)) fold.turns[number]!.isUndone = true;
  },
  redo(fold, { turns: count }) {
    const taken = effective(fold).filter((number) => fold.turns[number]!.isUndone && !fold.turns[number]!.isCutOff);
    for (const number of taken.slice(0, count)) fold.turns[number]!.isUndone = false;
  },
};
