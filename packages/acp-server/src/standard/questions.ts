/** Asks the client's person through ACP. One record of the log asks a question, and the record that settles it withdraws the question. */
import type { ClientCapabilities, PermissionOption, RequestPermissionResponse } from "@chimera/acp-schema";
import type { Decision, Metadata } from "@chimera/acp-schema/events";
import { type Connection, isConnectionError } from "@chimera/ndjson-rpc";
import type { OpenPermission, Session } from "@chimera/session";
import { cutArgs } from "../project/bounds.js";
import { changedPlaces, shownContent } from "./frames.js";
import { fenced } from "./running-calls.js";

const OPTIONS: Readonly<Record<Decision, PermissionOption>> = {
  allow: { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  always: { optionId: "allow_always", name: "Always allow exactly this call here", kind: "allow_always" },
  deny: { optionId: "reject_once", name: "Reject", kind: "reject_once" },
  never: { optionId: "reject_always", name: "Always reject exactly this call here", kind: "reject_always" },
};

/** Asks whether a call may run. */
export function createPermissionPrompts(
  connection: Connection,
  session: { readonly id: string; find(): Session | undefined },
  origin: string | undefined,
) {
  /** The call with the title it was announced with, so that a client shows the question under the same title. */
  function toolCallOf({ call_id, tool, args, content = [] }: OpenPermission): object {
    const call = session.find()?.conversation.openCalls.get(call_id);
    const locations = changedPlaces(content) ?? call?.locations;
    const shown = { title: call?.title ?? tool, name: tool, ...(call && { kind: call.kind }), locations };
    const asked = content.map((item) =>
      shownContent(item.type === "text" ? { ...item, text: fenced(item.text) } : item),
    );
    return { toolCallId: call_id, ...shown, status: "pending", rawInput: cutArgs(args), content: asked };
  }

  return createAsked<OpenPermission, Decision | { readonly choice: string }>({
    id: ({ permission_id }) => permission_id,
    request(permission, signal) {
      const { options, risk, choices, shown } = permission;
      const params = {
        sessionId: session.id,
        toolCall: toolCallOf(permission),
        // An engine's own choices keep their own ids, because two of them may be of one kind.
        options:
          choices?.map(({ id, name, kind }) => ({ optionId: id, name, kind })) ?? options.map((one) => OPTIONS[one]),
        _meta: { "chimera.dev/risk": risk, ...(shown !== undefined && { [SHOWN]: shown }) },
      };
      return (
        connection
          .request("session/request_permission", params, { signal })
          .then((response) => decisionOf(response as RequestPermissionResponse, permission))
          // An error from the client means no. If the client has gone, the other clients still have the question.
          .catch((error) => (signal.aborted || isGone(error) ? undefined : ("deny" as const)))
      );
    },
    deliver: (id, answer) => session.find()?.answer(id, answer, origin),
  });
}

/** Asks an engine's questions, with a form if the client supports forms. */
export function createElicitations(
  connection: Connection,
  session: { readonly id: string; find(): Session | undefined },
  { elicitation }: Pick<ClientCapabilities, "elicitation">,
  origin: string | undefined,
) {
  return createAsked<Metadata<"question_asked">, string | null>({
    id: ({ question_id }) => question_id,
    async request(question, signal) {
      const { askByForm } = await import("./question-form.js");
      const asking = askByForm(connection, { sessionId: session.id, question, hasForms: !!elicitation?.form, signal });
      // An error from the client means no answer. If the client has gone, the other clients still have the question.
      return asking.catch((error) => (signal.aborted || isConnectionError(error) ? undefined : null));
    },
    deliver: (id, answer) => session.find()?.answerQuestion(id, answer, origin),
  });
}

// --- internal ---

/**
 * Sends each question to the client once, and withdraws it when it is settled elsewhere. `request` resolves with the client's answer,
 * or with undefined to leave the question to others. `deliver` gives the answer to the session.
 */
function createAsked<Q, A>(options: {
  readonly id: (question: Q) => string;
  readonly request: (question: Q, signal: AbortSignal) => Promise<A | undefined>;
  readonly deliver: (id: string, answer: A) => Promise<void> | undefined;
}) {
  const asked = new Map<string, AbortController>();
  const send = async (id: string, question: Q): Promise<void> => {
    const abort = new AbortController();
    asked.set(id, abort);
    const answer = await options.request(question, abort.signal);
    asked.delete(id);
    // Another client may have answered meanwhile, and the first answer counts.
    if (answer !== undefined) await options.deliver(id, answer)?.catch(() => {});
  };
  return {
    /** Sends the question, unless it is already being asked: its record may pass again. */
    ask(question: Q) {
      const id = options.id(question);
      if (!asked.has(id)) void send(id, question);
    },
    /** Withdraws the question, because another client answered or the turn ended. */
    withdraw(id: string) {
      asked.get(id)?.abort();
      asked.delete(id);
    },
    close() {
      for (const abort of asked.values()) abort.abort();
      asked.clear();
    },
  };
}

function isGone(error: unknown): boolean {
  return isConnectionError(error) && error.code === "closed";
}

/** The `_meta` key for digests: the request has that of the call, and the answer has that of the call the client showed. */
const SHOWN = "chimera.dev/shown";

/** The decision of an answer. An answer about another call than the one asked about means no. */
function decisionOf(
  { outcome, _meta }: RequestPermissionResponse,
  { options, choices, shown }: OpenPermission,
): Decision | { readonly choice: string } {
  const seen = _meta?.[SHOWN];
  if (outcome.outcome !== "selected" || (seen !== undefined && seen !== shown)) return "deny";
  const { optionId } = outcome;
  if (choices?.some(({ id }) => id === optionId)) return { choice: optionId };
  return options.find((decision) => OPTIONS[decision].optionId === optionId) ?? "deny";
}
