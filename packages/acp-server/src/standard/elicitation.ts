/** A question as ACP asks it, with a form where the client offers them: tied to the record that put it and withdrawn by the one that settles it. */
import type { ClientCapabilities, CreateElicitationResponse, RequestPermissionResponse } from "@chimera/acp-schema";
import type { Metadata } from "@chimera/acp-schema/events";
import { type Connection, isConnectionError } from "@chimera/ndjson-rpc";
import type { Session } from "@chimera/session";
import { createAsked } from "./asked.js";

export function createElicitations(
  connection: Connection,
  session: { readonly id: string; find(): Session | undefined },
  { elicitation }: Pick<ClientCapabilities, "elicitation">,
  origin: string | undefined,
) {
  return createAsked<Metadata<"question_asked">, string | null>({
    id: ({ question_id }) => question_id,
    async request(question, signal) {
      const { call_id, question: message } = question;
      const form = {
        sessionId: session.id,
        toolCallId: call_id,
        mode: "form",
        message,
        requestedSchema: { type: "object", properties: { answer: propertyOf(question) }, required: ["answer"] },
      };
      const asking = elicitation?.form
        ? connection
            .request("elicitation/create", form, { signal })
            .then((response) => answerOf(response as CreateElicitationResponse))
        : connection
            .request("session/request_permission", dialogOf(session.id, question), { signal })
            .then((response) => chosenOf(response as RequestPermissionResponse, question));
      // A client that has gone, or cannot ask, leaves the question to the others.
      return asking.catch((error) => (signal.aborted || isConnectionError(error) ? undefined : null));
    },
    deliver: (id, answer) => session.find()?.answerQuestion(id, answer, origin),
  });
}

// --- internal ---

function propertyOf({ options }: Metadata<"question_asked">): object {
  const title = "Answer";
  if (options.length === 0) return { type: "string", title };
  return {
    type: "string",
    title,
    oneOf: options.map(({ name, description }) => ({
      const: name,
      title: name,
      ...(description !== undefined && { description }),
    })),
  };
}

/** For a client without forms: the options as answers to a permission, which every client can ask for. */
function dialogOf(sessionId: string, { call_id, question, options }: Metadata<"question_asked">): object {
  const named = options.map(({ name }, at) => ({ optionId: `${at}`, name, kind: "allow_once" }));
  const none = { optionId: "none", name: "No answer", kind: "reject_once" };
  return {
    sessionId,
    toolCall: { toolCallId: call_id, title: question, status: "pending" },
    options: [...named, none],
  };
}

function chosenOf({ outcome }: RequestPermissionResponse, { options }: Metadata<"question_asked">): string | null {
  return outcome.outcome === "selected" ? (options[Number(outcome.optionId)]?.name ?? null) : null;
}

function answerOf(response: CreateElicitationResponse): string | null {
  const content = response.action === "accept" ? (response.content as Record<string, unknown> | null) : null;
  const answer = content?.["answer"];
  return typeof answer === "string" && answer !== "" ? answer : null;
}
