/**
 * The broker of a session asks people questions, over all transports. A question is a record that every attached client sees, and the first
 * answer counts. If nobody can answer, the question gets its default answer. The conversation knows which questions are answered; the
 * broker keeps only the promises that wait.
 */
import type { AgentEvent, ResolvedBy } from "@chimera/acp-schema/events";
import { startTimer } from "@chimera/acp-schema/timer";
import type { Attachments } from "./attachments.js";
import { SessionError } from "./errors.js";
import type { Journal } from "./journal.js";
import type { Attribution } from "./recorder.js";
import type { TurnRun } from "./turn-run.js";

/** A kind of question, with the records of the question and of its answer. */
export interface Kind<Asked, Reply, Answer extends object> {
  readonly name: "permission" | "question";
  readonly idPrefix: string;
  /** The answer if nobody answers. */
  readonly none: Reply;
  /** How long to wait, in seconds, given the session's own limit. 0 sets no limit. */
  waits(seconds: number): number;
  record(id: string, asked: Asked): AgentEvent & { readonly metadata: { readonly shown?: string | undefined } };
  /** Throws `invalid_setting` if the question has no such answer. */
  settle(
    id: string,
    asked: Asked,
    reply: Reply,
    by: ResolvedBy,
  ): { readonly record: AgentEvent; readonly answer: Answer };
}

export type Broker = ReturnType<typeof createBroker>;

export function createBroker(deps: {
  readonly journal: Journal;
  readonly attachments: Attachments;
  readonly newId: () => string;
  /** Seconds to wait for an answer. 0 leaves it to the kind of question. */
  readonly timeoutSeconds: number;
}) {
  const { journal, attachments } = deps;
  const waiting = new Map<string, Waiting>();
  const giveUp = (id: string, by: ResolvedBy): void =>
    void waiting
      .get(id)
      ?.resolve(by)
      .catch(() => {});
  return {
    /** @param turn the turn that asks. After its end nobody is asked, because nothing would end the question. */
    ask: <A, R, W extends object>(kind: Kind<A, R, W>, asked: A, place: Attribution, turn: Pick<TurnRun, "isOver">) =>
      new Promise<W>((settle) => {
        const id = `${kind.idPrefix}-${deps.newId()}`;
        const unanswered = (by: ResolvedBy) => settle(kind.settle(id, asked, kind.none, by).answer);
        if (turn.isOver) return unanswered("cancel");
        let shown: string | undefined;
        try {
          const question = kind.record(id, asked);
          // A question that could not be recorded gets the default answer. The turn stops with the error of the log.
          journal.accept(question, place).catch(() => giveUp(id, "rule"));
          shown = question.metadata.shown;
        } catch {
          return unanswered("rule");
        }
        const seconds = kind.waits(deps.timeoutSeconds);
        const timer = seconds > 0 ? startTimer(seconds * 1000, () => giveUp(id, "timeout")) : undefined;
        const resolve: Waiting["resolve"] = async (by, given, origin) => {
          const reply = given ? (given.reply as typeof kind.none) : kind.none;
          const { record, answer } = kind.settle(id, asked, reply, by);
          waiting.delete(id);
          timer?.stop();
          try {
            await journal.accept(record, origin === undefined ? place : { ...place, origin });
            settle({ ...answer, ...(origin !== undefined && { person: origin }) });
          } catch (error) {
            // Only an answer that is in the log counts. Without its record the tool call must not run.
            unanswered("rule");
            throw error;
          }
        };
        waiting.set(id, { name: kind.name, shown, resolve });
        if (attachments.approvers() === 0) giveUp(id, "rule");
      }),
    /**
     * Throws `permission_not_found` or `question_not_found`, `already_resolved`, or `not_as_shown` if `shown` is not the digest of the
     * question. Resolves when the answer is durable and has been given to the turn that asked.
     */
    async answer<A, R, W extends object>(
      { name }: Kind<A, R, W>,
      id: string,
      reply: R,
      { origin, shown }: { origin?: string | undefined; shown?: string | undefined },
    ) {
      const asked = waiting.get(id);
      if (asked?.name !== name)
        throw journal.conversation.answered.has(id)
          ? new SessionError("already_resolved", `${name} ${id} was answered already`)
          : new SessionError(`${name}_not_found`, `there is no unanswered ${name} ${id}`);
      if (shown !== undefined && shown !== asked.shown)
        throw new SessionError("not_as_shown", `${name} ${id} is not the one that was shown: read it again`);
      return asked.resolve("client", { reply }, origin);
    },
    /** Gives every waiting question its default answer. */
    release(by: Exclude<ResolvedBy, "client">) {
      for (const id of [...waiting.keys()]) giveUp(id, by);
    },
  };
}

// --- internal ---

interface Waiting {
  readonly name: Kind<never, never, never>["name"];
  readonly shown: string | undefined;
  resolve(by: ResolvedBy, given?: { readonly reply: unknown }, origin?: string): Promise<void>;
}
