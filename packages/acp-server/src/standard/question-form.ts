/** An engine's question as ACP asks it. Loaded with the first question, because most sessions have none. */
import type { CreateElicitationResponse, RequestPermissionResponse } from "@chimera/acp-schema";
import type { Metadata } from "@chimera/acp-schema/events";
import type { Connection } from "@chimera/ndjson-rpc";

type Question = Metadata<"question_asked">;

/** Asks with a form if the client has forms, otherwise for a permission. Resolves with null for no answer. */
export async function askByForm(
  connection: Connection,
  options: {
    readonly sessionId: string;
    readonly question: Question;
    readonly hasForms: boolean;
    readonly signal: AbortSignal;
  },
): Promise<string | null> {
  const { sessionId, question, hasForms, signal } = options;
  if (!hasForms) {
    const response = await connection.request("session/request_permission", dialogOf(sessionId, question), { signal });
    return chosenOf(response as RequestPermissionResponse, question);
  }
  const form = {
    sessionId,
    toolCallId: question.call_id,
    mode: "form",
    message: question.question,
    requestedSchema: { type: "object", properties: { answer: propertyOf(question) }, required: ["answer"] },
  };
  return answerOf((await connection.request("elicitation/create", form, { signal })) as CreateElicitationResponse);
}

// --- internal ---

function propertyOf({ options }: Question): object {
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

/** For a client without forms: asks for a permission, which every client can do, with the options as its answers. */
function dialogOf(sessionId: string, { call_id, question, options }: Question): object {
  const named = options.map(({ name }, at) => ({ optionId: `${at}`, name, kind: "allow_once" }));
  const none = { optionId: "none", name: "No answer", kind: "reject_once" };
  return {
    sessionId,
    toolCall: { toolCallId: call_id, title: question, status: "pending" },
    options: [...named, none],
  };
}

function chosenOf({ outcome }: RequestPermissionResponse, { options }: Question): string | null {
  return outcome.outcome === "selected" ? (options[Number(outcome.optionId)]?.name ?? null) : null;
}

function answerOf(response: CreateElicitationResponse): string | null {
  const content = response.action === "accept" ? (response.content as Record<string, unknown> | null) : null;
  const answer = content?.["answer"];
  return typeof answer === "string" && answer !== "" ? answer : null;
}
