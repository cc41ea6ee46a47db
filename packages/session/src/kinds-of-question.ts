/** The two kinds of question to people: may a call run, and a free question of an engine. */
import { createHash } from "node:crypto";
import type { Answer, AskRequest, Question as PlainQuestion, QuestionAnswer } from "@chimera/acp-schema/agent";
import { DECISION_OF } from "@chimera/acp-schema/conversation";
import type { Decision, Metadata, PermissionChoice, ToolContent } from "@chimera/acp-schema/events";
import { endOf, startOf, visible } from "@chimera/acp-schema/text";
import type { Kind } from "./broker.js";
import { SessionError } from "./errors.js";
import { limits } from "./limits.js";
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

/** A permission request whose content is complete: no function has to be called for it. */
export interface Question extends Omit<AskRequest, "content"> {
  readonly content?: readonly ToolContent[];
}

// --- internal ---

function decisionOf(
  reply: Reply,
  choices: readonly PermissionChoice[],
): { decision: Decision; choice?: string; reason?: string } {
  if (typeof reply === "string") return { decision: reply };
  const why = reply.reason && { reason: reply.reason };
  if ("decision" in reply) return { decision: reply.decision, ...why };
  const { choice } = reply;
  const chosen = choices.find(({ id }) => id === choice);
  if (!chosen) throw new SessionError("invalid_setting", `the question has no answer ${JSON.stringify(choice)}`);
  return { decision: DECISION_OF[chosen.kind], choice, ...why };
}

/** Characters of one text. Clients of every protocol can show this many. */
const MAX_TEXT = 32 * 1024;
const HEAD = 24 * 1024;
/** Characters of a file before and after a change. A larger change is shown by the arguments of the call. */
const MAX_DIFF = 128 * 1024;

/** The record of a permission request, with the content to show, or a note how much is left out. Every client shows this same content. */
function questionOf(id: string, request: Question): Metadata<"permission_request"> {
  const { call_id, tool, args, risk, options = ["allow", "always", "deny", "never"], choices } = request;
  const given = (request.content ?? [])
    .filter((item) => (item.type === "text" || item.type === "diff") && !isTooLarge(item))
    .map(folded);
  const content = given.some(({ type }) => type === "diff")
    ? given
    : [{ type: "text" as const, text: inWords(args) }, ...given];
  const shown = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  return {
    permission_id: id,
    call_id,
    tool,
    args,
    risk,
    options: [...options],
    ...(choices && { choices: [...choices] }),
    content,
    shown,
  };
}

function isTooLarge(item: ToolContent): boolean {
  return item.type === "diff" && (item.old_text?.length ?? 0) + item.new_text.length > MAX_DIFF;
}

function folded(item: ToolContent): ToolContent {
  return item.type === "text" ? { type: "text", text: fold(visible(item.text)) } : item;
}

/** The arguments of a call as text: a command line first, without a name, then every other argument after its name. */
function inWords({ command, ...rest }: Record<string, unknown>): string {
  const named = typeof command === "string" ? rest : { ...(command !== undefined && { command }), ...rest };
  const lines = Object.entries(named).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return `${name}: ${text?.includes("\n") ? `\n${text}` : text}`;
  });
  return fold(visible([...(typeof command === "string" ? [command] : []), ...lines].join("\n")));
}

function fold(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  const left = text.length - MAX_TEXT;
  const note = `\n[${left} of ${text.length} characters are not shown here]\n`;
  return startOf(text, HEAD) + note + endOf(text, MAX_TEXT - HEAD);
}
