/**
 * The fold of a log: the visible conversation, which turns are undone, what is still open. A live session folds each record
 * as it appends it; a loaded one folds the whole log; both end with the same state, because this is the only place it comes
 * from.
 */
import {
  type Lost,
  lostCount,
  type Message,
  type Metadata,
  type SessionEvent,
  type StopReason,
} from "@chimera/acp-schema/events";
import { createParts, summedUp, textOf } from "@chimera/acp-schema/parts";
import { createOlderReader } from "./older-log.js";

export interface TurnState {
  readonly number: number;
  readonly prompt: { text: string; content?: readonly { readonly type: string }[] };
  started: boolean;
  ended: boolean;
  undone: boolean;
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
  /** Records that cannot be read back: nothing is known of them but how many they were. */
  lost(records: Lost): void;
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
  /** Turn numbers hidden from `session/load`. */
  hidden(): Set<number>;
  /**
   * How many records of the given types there are: what a dialect's event ids are counted from. Each lost record counts as one of
   * them, because an id that is too high repeats a record for a client that resumes, and one that is too low skips one.
   */
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
  let lostRecords = 0;
  const older = createOlderReader();

  const turnOf = (record: SessionEvent): TurnState | undefined =>
    record.turn === null ? undefined : turns[record.turn];

  /** Marks the last (or first) `count` turns that are (not) undone, by what `undo` and `redo` recorded. */
  const rewind = (list: TurnState[], count: number, undone: boolean) => {
    for (const turn of undone ? list.slice(-count) : list.slice(0, count)) turn.undone = undone;
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
    redoable: () => {
      const last = turns.findLast((turn) => hasEffect(turn) && !turn.undone);
      return turns.filter((turn) => turn.undone && hasEffect(turn) && turn.number > (last?.number ?? -1));
    },
    hidden: () => new Set(turns.filter((turn) => turn.undone || turn.number < cleared).map((turn) => turn.number)),
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
      let sum = lostRecords;
      for (const type of types) sum += counts.get(type) ?? 0;
      return sum;
    },
    lost(records) {
      lostRecords += lostCount(records);
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
          if (turn) turn.steps++;
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
          if (turn) turn.compacted = true;
          break;
        }
        case "cleared":
          cleared = turns.length;
          summaries = [];
          break;
        case "undo":
          rewind(history.undoable(), record.metadata.turns, true);
          break;
        case "redo":
          rewind(history.redoable(), record.metadata.turns, false);
          break;
        case "agent_result":
          // An agent of somebody else may yield no steps; its result then says how many it took.
          if (turn && turn.steps === 0) {
            turn.steps = record.metadata.steps;
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
