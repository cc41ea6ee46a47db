/** Folds a log into turns, messages, settings and unanswered requests. Live and loaded sessions use the same fold. */
import { createUpgrade, isLost, type Lost, lostCount } from "./entry.js";
import {
  addOlderTotals,
  type ChangedSettings,
  type Facts,
  type Fold,
  filesOf,
  newFold,
  numbersOf,
  redoable,
  type Timed,
  take,
  undoable,
} from "./fold.js";
import type { Message } from "./message.js";
import type { Metadata } from "./metadata.js";
import type { TurnView } from "./turn-view.js";

export interface Conversation {
  /** Takes the next entry, in the order of the log. It does not read a record's number. Lost records only count. */
  apply(entry: Timed | Lost): void;
  /** All turns in order, including undone ones. */
  readonly turns: readonly TurnView[];
  readonly settings: ChangedSettings;
  readonly facts: Readonly<Facts>;
  readonly openCalls: ReadonlyMap<string, Metadata<"tool_call">>;
  /** Permission requests without an answer, by id. */
  readonly openPermissions: ReadonlyMap<string, Metadata<"permission_request">>;
  /** Questions without an answer, by id. */
  readonly openQuestions: ReadonlyMap<string, Metadata<"question_asked">>;
  /** The ids of answered permission requests and questions. */
  readonly answered: ReadonlySet<string>;
  /** Commands that continue after their call, by id. */
  readonly openJobs: ReadonlyMap<string, Metadata<"job_started">>;
  /** The messages that the model sees before the given turn. */
  messages(before: number): Message[];
  /** The turns of those messages, each of which has one prompt there. */
  seen(before: number): number[];
  /** Turns that can be undone, oldest first. */
  undoable(): TurnView[];
  /** Turns that can be redone, in the order they ran. */
  redoable(): TurnView[];
  /** The turns whose files are undone or redone with the given turns, in order. Turns without a step belong to the turn before. */
  filesOf(taken: readonly TurnView[], direction: "undo" | "redo"): number[];
  /** The turns whose files can still be undone or redone. */
  reachable(): Set<number>;
  /** Turn numbers hidden from the visible conversation. */
  hidden(): Set<number>;
  /** How many records of the given types there are; each lost record counts as one. */
  count(types: ReadonlySet<string>): number;
  /** The newest known place with at most `id` records of the given types up to it. Reading from there finds the next one. */
  markBefore(types: ReadonlySet<string>, id: number): Mark;
}

/** A place in the log, and the number of records of some types up to it. */
export interface Mark {
  readonly seq: number;
  readonly id: number;
}

/**
 * Folds the records of a log.
 *
 * @param options.keep `state` leaves out the messages of turns, for lists and counts. @defaultValue "model"
 *
 * @example
 * const conversation = foldConversation();
 * for (const record of records) conversation.apply(record);
 * conversation.turns.at(-1)?.result?.output; // the last answer
 */
export function foldConversation(options: { readonly keep?: "state" | "model" } = {}): Conversation {
  const fold = newFold(options.keep !== "state");
  const upgrade = createUpgrade();
  const { turns, counts, marks } = fold;
  const pass = (type: string, count: number): void => {
    counts.set(type, (counts.get(type) ?? 0) + count);
    fold.seq += count;
    if (fold.seq >= (marks.at(-1)?.seq ?? 0) + MARK_EVERY) marks.push({ seq: fold.seq, counts: new Map(counts) });
  };
  return {
    turns,
    facts: fold.facts,
    openCalls: fold.openCalls,
    openPermissions: fold.openPermissions,
    openQuestions: fold.openQuestions,
    answered: fold.answered,
    openJobs: fold.openJobs,
    get settings() {
      return fold.settings;
    },
    apply(logged) {
      if (isLost(logged)) return pass(LOST, lostCount(logged));
      pass(logged.type, 1);
      const record = upgrade(logged);
      if (!record) return;
      take(fold, record);
      if (record !== logged && record.type === "agent_result") addOlderTotals(fold.facts, record.metadata);
    },
    undoable: () => undoable(fold),
    redoable: () => redoable(fold),
    filesOf: (taken, direction) => filesOf(fold, taken, direction),
    reachable: () => new Set(numbersOf(fold, ({ number, cutOff }) => number >= fold.cleared && !cutOff)),
    hidden: () => new Set(numbersOf(fold, (turn) => turn.undone || turn.number < fold.cleared)),
    messages(before) {
      const { summary, kept } = visible(fold, before);
      if (!summary) return kept.flatMap((turn) => turn.messages);
      const { text, fromTurn, skipped } = summary;
      const messages = kept.flatMap((turn) =>
        turn.messages.filter((_, at) => at === 0 || at > (turn.number === fromTurn ? skipped : 0)),
      );
      return [{ role: "summary", text }, ...messages];
    },
    seen: (before) => visible(fold, before).kept.map((turn) => turn.number),
    count: (types) => sum(counts, types),
    markBefore(types, id) {
      const mark = marks.findLast((one) => sum(one.counts, types) <= id);
      return mark ? { seq: mark.seq, id: sum(mark.counts, types) } : { seq: 0, id: 0 };
    },
  };
}

// --- internal ---

const MARK_EVERY = 4096;
/** The type under which lost records are counted. */
const LOST = "lost";

/** The summary in effect before the given turn, and the turns that the model sees besides it. */
function visible({ turns, summaries, cleared }: Fold, before: number) {
  const summary = summaries.findLast(({ by }) => !by?.undone && (by?.number ?? 0) < before);
  const from = Math.max(cleared, summary?.fromTurn ?? 0);
  const kept = turns.filter(({ number, undone, steps }) => number < before && number >= from && !undone && steps > 0);
  return { summary, kept };
}

function sum(counts: ReadonlyMap<string, number>, types: ReadonlySet<string>): number {
  let total = counts.get(LOST) ?? 0;
  for (const type of types) total += counts.get(type) ?? 0;
  return total;
}
