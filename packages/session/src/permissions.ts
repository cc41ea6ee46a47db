/**
 * One broker for all transports: a request is a record that every attached client sees, the first answer wins, and without anybody to
 * answer it is denied. Which requests are unresolved is in the conversation; here are only the promises that wait for them.
 */
import type { Answer } from "@chimera/acp-schema/agent";
import type { Decision, Metadata, PermissionChoice, ResolvedBy } from "@chimera/acp-schema/events";
import { startTimer, type Timer } from "@chimera/acp-schema/timer";
import type { Attachments } from "./attachments.js";
import { SessionError } from "./errors.js";
import type { Journal, Place } from "./journal.js";
import { type Question, questionOf } from "./question.js";
import type { Reply } from "./session.js";

export interface Permissions {
  /** @param signal of the turn: once it is aborted, there is nothing to ask for any more. */
  ask(request: Question, place: Place, signal: AbortSignal): Promise<Answer>;
  /**
   * Throws `permission_not_found`, `already_resolved`, or `not_as_shown` where `shown` is given and is not the digest of the request.
   * Resolves when the answer is durable and the tool may run.
   */
  answer(permissionId: string, answer: Reply, origin?: string, shown?: string): Promise<void>;
  /** Denies every request without an answer. */
  release(by: Exclude<ResolvedBy, "client">): void;
}

export function createPermissions(deps: {
  readonly journal: Journal;
  readonly attachments: Attachments;
  readonly newId: () => string;
  /** Seconds to wait for an answer; 0 sets no limit. */
  readonly timeoutSeconds: number;
}): Permissions {
  const { journal, attachments, timeoutSeconds } = deps;
  const waiting = new Map<string, Waiting>();
  /** Answered while the session is loaded: a late answer is told from one to a question that never was. */
  const answered = new Set<string>();

  const resolve = async (id: string, answer: Reply, by: ResolvedBy, origin?: string): Promise<void> => {
    const { place, settle, timer, choices } = waiting.get(id)!;
    const { decision, ...chosen } = decided(answer, choices);
    waiting.delete(id);
    answered.add(id);
    timer?.stop();
    const resolved = { type: "permission_resolved", metadata: { permission_id: id, decision, by, ...chosen } } as const;
    try {
      await journal.accept(resolved, origin === undefined ? place : { ...place, origin });
      settle({ decision, by, ...chosen, ...(origin !== undefined && { person: origin }) });
    } catch (error) {
      // An answer that could not be recorded must not let a tool run.
      settle({ decision: "deny", by: "rule" });
      throw error;
    }
  };
  const deny = (id: string, by: ResolvedBy): void => {
    if (waiting.has(id)) resolve(id, "deny", by).catch(() => {});
  };
  const release: Permissions["release"] = (by) => {
    for (const id of [...waiting.keys()]) deny(id, by);
  };
  return {
    release,
    ask: (request, place, signal) =>
      new Promise((settle) => {
        if (signal.aborted) {
          settle({ decision: "deny", by: "cancel" });
          return;
        }
        const id = deps.newId();
        let question: Metadata<"permission_request">;
        try {
          question = questionOf(id, request);
          journal.recorder.write({ type: "permission_request", metadata: question }, place);
        } catch {
          // A question that nobody can see is answered with no; the turn stops with the log's own error.
          settle({ decision: "deny", by: "rule" });
          return;
        }
        const timer = timeoutSeconds > 0 ? startTimer(timeoutSeconds * 1000, () => deny(id, "timeout")) : undefined;
        waiting.set(id, { place, settle, timer, choices: request.choices ?? [], shown: question.shown });
        if (attachments.approvers() === 0) deny(id, "rule");
      }),
    async answer(id, answer, origin, shown) {
      const asked = waiting.get(id);
      if (asked && shown !== undefined && shown !== asked.shown)
        throw new SessionError(
          "not_as_shown",
          `permission ${id} asks for something else than was shown: read it again`,
        );
      if (asked) return resolve(id, answer, "client", origin);
      throw answered.has(id)
        ? new SessionError("already_resolved", `permission ${id} was answered already`)
        : new SessionError("permission_not_found", `there is no open permission ${id}`);
    },
  };
}

// --- internal ---

interface Waiting {
  readonly place: Place;
  readonly settle: (answer: Answer) => void;
  readonly timer: Timer | undefined;
  readonly shown: string | undefined;
  readonly choices: readonly PermissionChoice[];
}

const DECISION_OF: Readonly<Record<PermissionChoice["kind"], Decision>> = {
  allow_once: "allow",
  allow_always: "always",
  reject_once: "deny",
  reject_always: "never",
};

function decided(
  answer: Reply,
  choices: readonly PermissionChoice[],
): { decision: Decision; choice?: string; reason?: string } {
  if (typeof answer === "string") return { decision: answer };
  if ("decision" in answer) return answer;
  const { choice } = answer;
  const chosen = choices.find(({ id }) => id === choice);
  if (!chosen) throw new SessionError("invalid_setting", `the question has no answer ${JSON.stringify(choice)}`);
  return { decision: DECISION_OF[chosen.kind], choice };
}
