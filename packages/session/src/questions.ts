/** Questions of an engine to the people: a record that every attached client sees, and the first answer counts. Nobody there, no answer. */
import type { Question, QuestionAnswer } from "@chimera/acp-schema/agent";
import type { ResolvedBy } from "@chimera/acp-schema/events";
import { startTimer, type Timer } from "@chimera/acp-schema/timer";
import type { Attachments } from "./attachments.js";
import { SessionError } from "./errors.js";
import type { Journal, Place } from "./journal.js";

export interface Questions {
  /** @param signal of the turn: once it is aborted, nobody is asked any more. */
  ask(question: Question, place: Place, signal: AbortSignal): Promise<QuestionAnswer>;
  /** Throws `question_not_found` or `already_resolved`. Resolves when the answer is durable. */
  answer(questionId: string, answer: string | null, origin?: string): Promise<void>;
  /** Leaves every question without an answer. */
  release(by: Exclude<ResolvedBy, "client">): void;
}

export function createQuestions(deps: {
  readonly journal: Journal;
  readonly attachments: Attachments;
  readonly newId: () => string;
  /** Seconds to wait for an answer. */
  readonly timeoutSeconds: number;
}): Questions {
  const { journal, attachments, timeoutSeconds } = deps;
  const waiting = new Map<string, Waiting>();
  const answered = new Set<string>();
  const resolve = async (id: string, answer: string | null, by: ResolvedBy, origin?: string): Promise<void> => {
    const { place, settle, timer } = waiting.get(id)!;
    waiting.delete(id);
    answered.add(id);
    timer.stop();
    const event = { type: "question_answered", metadata: { question_id: id, answer, by } } as const;
    try {
      await journal.accept(event, origin === undefined ? place : { ...place, origin });
      settle({ answer, by });
    } catch (error) {
      // An answer that is not on record was not given.
      settle({ answer: null, by: "rule" });
      throw error;
    }
  };
  const giveUp = (id: string, by: ResolvedBy): void => {
    if (waiting.has(id)) resolve(id, null, by).catch(() => {});
  };
  return {
    ask: ({ call_id, question, options }, place, signal) =>
      new Promise((settle) => {
        if (signal.aborted) return settle({ answer: null, by: "cancel" });
        const id = deps.newId();
        const metadata = { question_id: id, call_id, question, options: [...options] };
        try {
          journal.recorder.write({ type: "question_asked", metadata }, place);
        } catch {
          return settle({ answer: null, by: "rule" });
        }
        const timer = startTimer(timeoutSeconds * 1000, () => giveUp(id, "timeout"));
        waiting.set(id, { place, settle, timer });
        if (attachments.approvers() === 0) giveUp(id, "rule");
      }),
    async answer(id, answer, origin) {
      if (waiting.has(id)) return resolve(id, answer, "client", origin);
      throw answered.has(id)
        ? new SessionError("already_resolved", `question ${id} was answered already`)
        : new SessionError("question_not_found", `there is no unanswered question ${id}`);
    },
    release(by) {
      for (const id of [...waiting.keys()]) giveUp(id, by);
    },
  };
}

// --- internal ---

interface Waiting {
  readonly place: Place;
  readonly settle: (answer: QuestionAnswer) => void;
  readonly timer: Timer;
}
