/**
 * One broker for all transports and for everything that people are asked: a question is a record that every attached client sees, the
 * first answer counts, and without anybody to answer there is none. Which questions have their answer is in the conversation; here are
 * only the promises that wait for one.
 */
import type { AgentEvent, ResolvedBy } from "@chimera/acp-schema/events";
import { startTimer } from "@chimera/acp-schema/timer";
import type { Attachments } from "./attachments.js";
import { SessionError } from "./errors.js";
import type { Attribution, Journal } from "./journal.js";
import type { TurnRun } from "./turn-run.js";

/** A kind of question: how it and its answers stand on record. */
export interface Kind<Asked, Reply, Answer extends object> {
  readonly name: "permission" | "question";
  readonly idPrefix: string;
  /** The answer that it has when nobody gives one. */
  readonly none: Reply;
  /** Seconds to wait where the session waits for `seconds`; 0 sets no limit. */
  waits(seconds: number): number;
  record(id: string, asked: Asked): AgentEvent & { readonly metadata: { readonly shown?: string | undefined } };
  /** Throws `invalid_setting` where the question has no such answer. */
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
  /** Seconds to wait for an answer; 0 leaves it to the kind of question. */
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
    /** @param turn that asks: once it is over, nobody is asked, since nobody would end the question. */
    ask: <A, R, W extends object>(kind: Kind<A, R, W>, asked: A, place: Attribution, turn: Pick<TurnRun, "isOver">) =>
      new Promise<W>((settle) => {
        const id = `${kind.idPrefix}-${deps.newId()}`;
        const unanswered = (by: ResolvedBy) => settle(kind.settle(id, asked, kind.none, by).answer);
        if (turn.isOver) return unanswered("cancel");
        let shown: string | undefined;
        try {
          const question = kind.record(id, asked);
          // A question that nobody can see is answered with no; the turn stops with the log's own error.
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
            // Only an answer that is in the log counts: without its record, nothing may run.
            unanswered("rule");
            throw error;
          }
        };
        waiting.set(id, { name: kind.name, shown, resolve });
        if (attachments.approvers() === 0) giveUp(id, "rule");
      }),
    /**
     * Throws `permission_not_found` or `question_not_found`, `already_resolved`, or `not_as_shown` where `shown` is given and is not the
     * digest of the question. Resolves when the answer is durable and has reached the one who asked.
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
        throw new SessionError("not_as_shown", `${name} ${id} asks for something else than was shown: read it again`);
      return asked.resolve("client", { reply }, origin);
    },
    /** Leaves everything that waits without an answer. */
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
