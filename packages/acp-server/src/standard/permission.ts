/** A permission request as ACP asks it, tied to the record that opened it and withdrawn by the one that settles it. */
import type { PermissionOption, RequestPermissionResponse } from "@chimera/acp-schema";
import type { Decision } from "@chimera/acp-schema/events";
import { type Connection, isConnectionError } from "@chimera/ndjson-rpc";
import type { OpenPermission, Session } from "@chimera/session";
import { cutArgs } from "../project/bounds.js";
import { createAsked } from "./asked.js";
import { changedPlaces, shownContent } from "./frames.js";
import { fenced } from "./running-calls.js";

const OPTIONS: Readonly<Record<Decision, PermissionOption>> = {
  allow: { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
  always: { optionId: "allow_always", name: "Always allow exactly this call here", kind: "allow_always" },
  deny: { optionId: "reject_once", name: "Reject", kind: "reject_once" },
  never: { optionId: "reject_always", name: "Always reject exactly this call here", kind: "reject_always" },
};

export function createPermissionPrompts(
  connection: Connection,
  session: { readonly id: string; find(): Session | undefined },
  origin: string | undefined,
) {
  /** The call as it was announced, so that a client shows the question under the same words. */
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
        // An engine's own answers go by their own names: two may be of one kind.
        options:
          choices?.map(({ id, name, kind }) => ({ optionId: id, name, kind })) ?? options.map((one) => OPTIONS[one]),
        _meta: { "chimera.dev/risk": risk, ...(shown !== undefined && { [SHOWN]: shown }) },
      };
      return (
        connection
          .request("session/request_permission", params, { signal })
          .then((response) => answerOf(response as RequestPermissionResponse, permission))
          // A client that cannot answer means no; one that has gone leaves the question to the others.
          .catch((error) => (signal.aborted || isGone(error) ? undefined : ("deny" as const)))
      );
    },
    deliver: (id, answer) => session.find()?.answer(id, answer, origin),
  });
}

// --- internal ---

function isGone(error: unknown): boolean {
  return isConnectionError(error) && error.code === "closed";
}

/** Carries the digest of what is asked for, and back that of what was shown. */
const SHOWN = "chimera.dev/shown";

/** An answer to something else than what is asked for is a no. */
function answerOf(
  { outcome, _meta }: RequestPermissionResponse,
  { options, choices, shown }: OpenPermission,
): Decision | { readonly choice: string } {
  const seen = _meta?.[SHOWN];
  if (outcome.outcome !== "selected" || (seen !== undefined && seen !== shown)) return "deny";
  const { optionId } = outcome;
  if (choices?.some(({ id }) => id === optionId)) return { choice: optionId };
  return options.find((decision) => OPTIONS[decision].optionId === optionId) ?? "deny";
}
