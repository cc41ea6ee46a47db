/** What people are asked: whether a call may run, and what an engine wants to know. */

import type { Answer, Question as PlainQuestion, QuestionAnswer } from "@chimera/acp-schema/agent";
import { DECISION_OF } from "@chimera/acp-schema/conversation";
import type { Decision, PermissionChoice } from "@chimera/acp-schema/events";
import type { Kind } from "./broker.js";
import { SessionError } from "./errors.js";
import { limits } from "./limits.js";
import { type Question, questionOf } from "./question.js";
import type { Reply } from "./session.js";

export const PERMISSION: Kind<Question, Reply, Answer> = {
  name: "permission",
  idPrefix: "perm",
  none: "deny",
  waits: (seconds) => seconds,
  record: (id, request) => ({ type: "permission_request", metadata: questionOf(id, request) }),
  settle(id, { choices = [] }, reply, by) {
    const { decision, ...chosen } = decisionOf(reply, choices);
    const answer = { decision, by, ...chosen };
    return { record: { type: "permission_resolved", metadata: { permission_id: id, ...answer } }, answer };
  },
};

export const QUESTION: Kind<PlainQuestion, string | null, QuestionAnswer> = {
  name: "question",
  idPrefix: "question",
  none: null,
  waits: (seconds) => seconds || limits.questionSeconds,
  record: (id, { options, ...question }) => ({
    type: "question_asked",
    metadata: { question_id: id, ...question, options: [...options] },
  }),
  settle: (id, _question, answer, by) => ({
    record: { type: "question_answered", metadata: { question_id: id, answer, by } },
    answer: { answer, by },
  }),
};

// --- internal ---

function decisionOf(
  reply: Reply,
  choices: readonly PermissionChoice[],
): { decision: Decision; choice?: string; reason?: string } {
  if (typeof reply === "string") return { decision: reply };
  if ("decision" in reply) return reply;
  const { choice } = reply;
  const chosen = choices.find(({ id }) => id === choice);
  if (!chosen) throw new SessionError("invalid_setting", `the question has no answer ${JSON.stringify(choice)}`);
  return { decision: DECISION_OF[chosen.kind], choice };
}
