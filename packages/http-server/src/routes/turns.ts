/** Sends prompts, cancels turns, and answers their questions. The first answer counts, over any transport. */
import { DECISION_OF } from "@chimera/acp-schema/conversation";
import type {
  MessageReply,
  PermissionBody,
  PermissionReply,
  PermissionsReply,
  QuestionReply,
  QuestionsReply,
  ToolApproveReply,
  TurnReply,
} from "@chimera/acp-schema/http";
import type { PromptInput } from "@chimera/session";
import type { Context } from "hono";
import { keyOf } from "../creations.js";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";
import { promptFrom, readBody } from "../request/body.js";
import { type Handler, type Handlers, isGuest, pathPart, type RouteDeps } from "./route.js";

export function turnRoutes({ openSession }: RouteDeps) {
  /** Sends a prompt with the caller's `Idempotency-Key`. */
  const send = async (c: Context<AppEnv>, prompt: PromptInput) => {
    const session = await openSession(pathPart(c, "id"));
    const input = { ...prompt, key: keyOf(c), isGuest: isGuest(c) };
    const { status, messageId, durable } = session.prompt(input);
    await durable;
    return { session_id: session.id, status, message_id: messageId };
  };
  const cancel: Handler = async (c) => {
    // Load the session: a turn that runs in another process cannot be cancelled here.
    await (await openSession(pathPart(c, "id"))).cancel();
    return c.body(null, 204);
  };
  /** Answers a permission request. Returns the decision that counts: a choice replaces the decision that was sent with it. */
  const answer = async (id: string, permissionId: string, { decision, choice, shown, reason }: PermissionBody) => {
    const session = await openSession(id);
    const { options, choices } = session.openPermissions.get(permissionId) ?? {};
    const refused = (why: string) => new HttpError(400, "invalid_decision", why);
    if (options && !options.includes(decision)) throw refused(`choose one of ${options.join(", ")}`);
    const chosen = choices?.find((one) => one.id === choice);
    if (choice !== undefined && options && !chosen) {
      const offered = choices?.map((one) => one.id).join(", ");
      throw refused(`the question has ${offered ? `the choices ${offered}` : "no choices"}`);
    }
    const said = choice === undefined ? { decision, reason } : { choice, reason };
    await session.answer(permissionId, said, undefined, shown);
    return chosen ? DECISION_OF[chosen.kind] : decision;
  };
  return {
    "POST /sessions/{id}/turns": async (c) => {
      const { prompt, content } = await readBody(c, "POST /sessions/{id}/turns", { prompt: "missing_prompt" });
      return c.json((await send(c, promptFrom(prompt, content, "missing_prompt"))) satisfies TurnReply, 202);
    },
    "POST /session/{id}/message": async (c) => {
      const { text, content } = await readBody(c, "POST /session/{id}/message", { text: "missing_text" });
      const { message_id } = await send(c, promptFrom(text, content, "missing_text"));
      return c.json({ message_id } satisfies MessageReply, 202);
    },
    "POST /sessions/{id}/cancel": cancel,
    "POST /session/{id}/cancel": cancel,
    "GET /sessions/{id}/permissions": async (c) => {
      const { openPermissions } = await openSession.read(pathPart(c, "id"));
      return c.json({ permissions: [...openPermissions.values()] } satisfies PermissionsReply);
    },
    "POST /sessions/{id}/permissions/{pid}": async (c) => {
      const body = await readBody(c, "POST /sessions/{id}/permissions/{pid}", { decision: "invalid_decision" });
      const { decision, choice } = body;
      // A remembered answer holds for every session of the workspace, so the token of one session is not enough.
      if (isGuest(c) && (decision === "always" || decision === "never" || choice !== undefined))
        throw new HttpError(403, "admin_only", `${choice ?? decision} needs the master token: answer allow or deny`);
      const counted = await answer(pathPart(c, "id"), pathPart(c, "pid"), body);
      return c.json({ resolved: true, decision: counted } satisfies PermissionReply);
    },
    "GET /sessions/{id}/questions": async (c) => {
      const { openQuestions } = await openSession.read(pathPart(c, "id"));
      return c.json({ questions: [...openQuestions.values()] } satisfies QuestionsReply);
    },
    "POST /sessions/{id}/questions/{qid}": async (c) => {
      const body = await readBody(c, "POST /sessions/{id}/questions/{qid}", { answer: "invalid_body" });
      await (await openSession(pathPart(c, "id"))).answerQuestion(pathPart(c, "qid"), body.answer);
      return c.json({ answered: true } satisfies QuestionReply);
    },
    "POST /tool/approve": async (c) => {
      const missing = "missing_session_id_or_permission_id";
      const codes = { session_id: missing, permission_id: missing, approved: "missing_approved" } as const;
      const { session_id, permission_id, approved, shown } = await readBody(c, "POST /tool/approve", codes);
      await answer(session_id, permission_id, {
        decision: approved ? "allow" : "deny",
        ...(shown !== undefined && { shown }),
      });
      return c.json({ resolved: true, approved } satisfies ToolApproveReply);
    },
  } satisfies Handlers;
}
