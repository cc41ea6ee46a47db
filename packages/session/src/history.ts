/**
 * The fold of a log: the visible conversation, which turns are undone, what is unresolved. A live session folds each record
 * as it appends it and a loaded one folds the whole log, so both have the same state.
 */
import type { Message, Metadata, SessionEvent, StopReason } from "@chimera/acp-schema/events";
import { createParts, summedUp, textOf } from "@chimera/acp-schema/parts";
import type { Damage } from "@chimera/event-store";
import { createOlderReader } from "./older-log.js";

export interface TurnState {
  readonly number: number;
  readonly prompt: { text: string; content?: readonly { readonly type: string }[] };
  started: boolean;
  ended: boolean;
  undone: boolean;
  /** What it did to files is undone: with the turn itself, or with the one before it when it took no step. */
  filesUndone: boolean;
  /** It was undone when a later turn took its first step: nothing brings it back. */
  cutOff: boolean;
  /** Model steps taken; the model does not see a turn that took none (a slash command). */
  steps: number;
  /** It summed up what came before: it can be undone, though it may have taken no step. */
  compacted: boolean;
  stopReason: StopReason | null;
  /** What the turn ended with; null until then. */
  result: TurnResult | null;
  /** The failure it reported, if any. */
  failure: { readonly name: string; readonly message: string } | null;
  /** Tokens of this turn alone. */
  usage: TurnUsage;
  readonly messages: Message[];
}

export interface TurnResult {
  readonly output: string;
  readonly success: boolean;
  readonly cancelled: boolean;
  readonly error: string | null;
  readonly steps: number;
  readonly cost: number;
}

export type TurnUsage = Pick<Usage, "input" | "output" | "cache" | "reasoning">;

export interface Usage {
  input: number;
  output: number;
  cache: number;
  reasoning: number;
  total_usd: number;
  priced: boolean;
  used: number;
  size: number;
}

export interface History {
  /** The next record, in the order of the log; its number is not asked for. */
  apply(record: SessionEvent): void;
  /** Records that cannot be read back: nothing is known of them but of which types they were. */
  lost(records: Pick<Damage, "types">): void;
  /** Turns in order, undone ones too. */
  readonly turns: readonly TurnState[];
  /** What the model sees before the given turn. */
  messages(before: number): Message[];
  /** The turns that those messages are of, each of which has one prompt there. */
  seen(before: number): number[];
  /** Turns that undo can take back, oldest first. */
  undoable(): TurnState[];
  /** Turns that redo can bring back, in the order they ran. */
  redoable(): TurnState[];
  /** The turns whose files go with the given ones, in the order they are taken: those without a step go with the turn before. */
  filesOf(taken: readonly TurnState[], direction: "undo" | "redo"): number[];
  /** The turns whose files can still be undone or redone. */
  reachable(): Set<number>;
  /** Turn numbers hidden from `session/load`. */
  hidden(): Set<number>;
  /** How many records of the given types there are, lost ones too: what a dialect's event ids are counted from. */
  count(types: ReadonlySet<string>): number;
  readonly openCalls: ReadonlyMap<string, Metadata<"tool_call">>;
  readonly openPermissions: ReadonlySet<string>;
  readonly facts: Facts;
}

/** The latest value of everything that is not the conversation itself. */
export interface Facts {
  title: string | null;
  model: string | null;
  agent: string | null;
  usage: Usage | null;
  toolCalls: number;
  steps: number;
  lastResult: { success: boolean; error: string | null } | null;
  firstPrompt: string | null;
}

export function createHistory(): History {
  const turns: TurnState[] = [];
  const openCalls = new Map<string, Metadata<"tool_call">>();
  const openPermissions = new Set<string>();
  const facts: Facts = {
    title: null,
    model: null,
    agent: null,
    usage: null,
    toolCalls: 0,
    steps: 0,
    lastResult: null,
    firstPrompt: null,
  };
  let cleared = 0;
  let summaries: { text: string; fromTurn: number; skipped: number; by: TurnState | undefined }[] = [];
  const reply = createParts();
  const counts = new Map<string, number>();
  const older = createOlderReader();
  const turnOf = ({ turn }: SessionEvent): TurnState | undefined => (turn === null ? undefined : turns[turn]);
  const numbersOf = (which: (turn: TurnState) => boolean) => turns.filter(which).map(({ number }) => number);
  let anyUndone = false;

  const rewind = (taken: readonly TurnState[], direction: "undo" | "redo") => {
    anyUndone = true;
    for (const number of history.filesOf(taken, direction)) turns[number]!.filesUndone = direction === "undo";
    for (const turn of taken) turn.undone = direction === "undo";
  };

  /** The first effect of a turn takes away what could be redone. */
  const takesEffect = (turn: TurnState): TurnState => {
    if (anyUndone && !hasEffect(turn)) for (const other of turns) if (other?.filesUndone) other.cutOff = true;
    return turn;
  };

  /** The summary that counts before the given turn, and the turns that stay beside it. */
  const visible = (before: number) => {
    const summary = summaries.findLast(({ by }) => !by?.undone && (by?.number ?? 0) < before);
    const from = Math.max(cleared, summary?.fromTurn ?? 0);
    const kept = turns.filter(({ number, undone, steps }) => number < before && number >= from && !undone && steps > 0);
    return { summary, kept };
  };

  const history: History = {
    turns,
    openCalls,
    openPermissions,
    facts,
    undoable: () => turns.filter((turn) => turn.number >= cleared && turn.ended && !turn.undone && hasEffect(turn)),
    redoable: () => turns.filter((turn) => turn.number >= cleared && turn.undone && !turn.cutOff),
    filesOf(taken, direction) {
      const first = taken[0]?.number ?? Number.POSITIVE_INFINITY;
      if (direction === "undo") {
        return numbersOf(({ number, ended, filesUndone }) => number >= first && ended && !filesUndone).reverse();
      }
      const next = history.redoable()[taken.length]?.number ?? Number.POSITIVE_INFINITY;
      return numbersOf((turn) => turn.number >= first && turn.number < next && turn.filesUndone && !turn.cutOff);
    },
    reachable: () => new Set(numbersOf(({ number, cutOff }) => number >= cleared && !cutOff)),
    hidden: () => new Set(numbersOf((turn) => turn.undone || turn.number < cleared)),
    messages(before) {
      const { summary, kept } = visible(before);
      if (!summary) return kept.flatMap((turn) => turn.messages);
      const { text, fromTurn, skipped } = summary;
      const messages = kept.flatMap((turn) =>
        turn.messages.filter((_, at) => at === 0 || at > (turn.number === fromTurn ? skipped : 0)),
      );
      return [{ role: "summary", text }, ...messages];
    },
    seen: (before) => visible(before).kept.map((turn) => turn.number),
    count(types) {
      let sum = 0;
      for (const type of types) sum += counts.get(type) ?? 0;
      return sum;
    },
    lost({ types = {} }) {
      for (const [type, count] of Object.entries(types)) counts.set(type, (counts.get(type) ?? 0) + count);
    },
    apply(logged) {
      counts.set(logged.type, (counts.get(logged.type) ?? 0) + 1);
      const record = older(logged);
      if (!record) return;
      const turn = turnOf(record);
      switch (record.type) {
        case "user_message": {
          const { text, content } = record.metadata;
          const number = record.turn ?? turns.length;
          facts.firstPrompt ??= text;
          turns[number] = {
            number,
            prompt: content ? { text, content } : { text },
            started: false,
            ended: false,
            undone: false,
            filesUndone: false,
            cutOff: false,
            steps: 0,
            compacted: false,
            stopReason: null,
            result: null,
            failure: null,
            usage: { input: 0, output: 0, cache: 0, reasoning: 0 },
            messages: [content ? { role: "user", text, content } : { role: "user", text }],
          };
          break;
        }
        case "turn_start":
          if (turn) turn.started = true;
          break;
        case "step_start":
          facts.steps++;
          if (turn) takesEffect(turn).steps++;
          break;
        case "text_delta":
        case "thought_delta":
        case "part_end":
          reply.apply(record);
          break;
        case "tool_call":
          facts.toolCalls++;
          openCalls.set(record.metadata.call_id, record.metadata);
          reply.apply(record);
          break;
        case "tool_result": {
          const { call_id, output, error, success } = record.metadata;
          const call = openCalls.get(call_id);
          openCalls.delete(call_id);
          endReply(turn);
          // As the model read it while the turn ran: a provider may hold the conversation to every word it was sent.
          if (call && turn)
            turn.messages.push({ role: "tool", id: call_id, name: call.tool, output: output || error || "", success });
          break;
        }
        case "step_end":
          endReply(turn);
          break;
        case "permission_request":
          openPermissions.add(record.metadata.permission_id);
          break;
        case "permission_resolved":
          openPermissions.delete(record.metadata.permission_id);
          break;
        case "usage":
          if (turn) addTokens(turn.usage, record.metadata, facts.usage);
          facts.usage = { ...record.metadata };
          break;
        case "turn_end":
          if (turn) turn.stopReason = record.metadata.stop_reason;
          break;
        case "model_changed":
          facts.model = record.metadata.new;
          break;
        case "config_changed":
          if (record.metadata.id === "agent" && typeof record.metadata.value === "string")
            facts.agent = record.metadata.value;
          break;
        case "title_changed":
          facts.title = record.metadata.title;
          break;
        case "error":
          if (turn) turn.failure = { name: record.metadata.name, message: record.metadata.message };
          break;
        case "compaction": {
          const { summary: text, from_turn: fromTurn, from_call } = record.metadata;
          const skipped = summedUp(turns[fromTurn]?.messages ?? [], from_call);
          summaries.push({ text, fromTurn, skipped, by: turn });
          if (turn) takesEffect(turn).compacted = true;
          break;
        }
        case "cleared":
          cleared = turns.length;
          summaries = [];
          break;
        case "undo":
          rewind(history.undoable().slice(-record.metadata.turns), "undo");
          break;
        case "redo":
          rewind(history.redoable().slice(0, record.metadata.turns), "redo");
          break;
        case "agent_result":
          // An agent of somebody else may yield no steps; its result then says how many it took.
          if (turn && turn.steps === 0 && record.metadata.steps > 0) {
            takesEffect(turn).steps = record.metadata.steps;
            facts.steps += record.metadata.steps;
          }
          // An older log says only here what the turn cost and called.
          if (record !== logged) {
            facts.toolCalls += record.metadata.tool_calls_total;
            const { total_usd, ...tokens } = facts.usage ?? NOTHING_USED;
            facts.usage = { ...tokens, total_usd: total_usd + record.metadata.cost };
          }
          facts.lastResult = { success: record.metadata.success, error: record.metadata.error };
          endTurn(turn, { ...record.metadata, cancelled: false });
          break;
        case "cancelled":
          facts.lastResult = { success: false, error: "cancelled" };
          endTurn(turn, {
            output: record.metadata.output,
            success: false,
            cancelled: true,
            error: null,
            steps: turn?.steps ?? 0,
            cost: 0,
          });
          break;
        default:
          break;
      }
    },
  };

  function endReply(turn: TurnState | undefined): void {
    const parts = reply.take();
    if (parts.length > 0) turn?.messages.push({ role: "assistant", parts });
  }

  function endTurn(turn: TurnState | undefined, result: TurnResult): void {
    endReply(turn);
    if (!turn) return;
    // What was never streamed was said all the same.
    if (
      result.output !== "" &&
      !turn.messages.some((message) => message.role === "assistant" && textOf(message) !== "")
    )
      turn.messages.push({ role: "assistant", parts: [{ type: "text", text: result.output }] });
    turn.result = result;
    turn.ended = true;
  }

  return history;
}

// --- internal ---

function hasEffect({ steps, compacted }: TurnState): boolean {
  return steps > 0 || compacted;
}

const NOTHING_USED: Usage = {
  input: 0,
  output: 0,
  cache: 0,
  reasoning: 0,
  total_usd: 0,
  priced: true,
  used: 0,
  size: 0,
};

/** Usage records carry session totals; what a turn used is how far they moved while it ran. */
function addTokens(turn: TurnUsage, now: Usage, before: Usage | null): void {
  for (const key of ["input", "output", "cache", "reasoning"] as const) {
    turn[key] += Math.max(0, now[key] - (before?.[key] ?? 0));
  }
}
