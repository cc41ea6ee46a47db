/** A permission request as ACP asks it, tied to the record that opened it and withdrawn by the one that settles it. */
import type { PermissionOption, RequestPermissionResponse } from "@chimera/acp-schema";
import type { Decision } from "@chimera/acp-schema/events";
import { type Connection, isConnectionError } from "@chimera/ndjson-rpc";
import type { OpenPermission, Session } from "@chimera/session";
import { cutArgs } from "../project/bounds.js";
import { changedPlaces, shownContent } from "./frames.js";
import { fenced } from "./running-calls.js";

export interface PermissionPrompts {
  ask(permission: OpenPermission): void;
  /** Takes the question back: somebody else answered, or the turn ended. */
  withdraw(permissionId: string): void;
  close(): void;
}

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
): PermissionPrompts {
  const asked = new Map<string, AbortController>();

  const ask = async (permission: OpenPermission) => {
    const { permission_id, options, risk, choices, shown } = permission;
    const abort = new AbortController();
    asked.set(permission_id, abort);
    const params = {
      sessionId: session.id,
      toolCall: toolCallOf(permission),
      // An engine's own answers go by their own names: two may be of one kind.
      options:
        choices?.map(({ id, name, kind }) => ({ optionId: id, name, kind })) ?? options.map((one) => OPTIONS[one]),
      _meta: { "chimera.dev/risk": risk, ...(shown !== undefined && { [SHOWN]: shown }) },
    };
    const answer = await connection
      .request("session/request_permission", params, { signal: abort.signal })
      .then((response) => answerOf(response as RequestPermissionResponse, permission))
      // A client that cannot answer means no; one that has gone leaves the question to the others.
      .catch((error) => (abort.signal.aborted || isGone(error) ? null : ("deny" as const)));
    asked.delete(permission_id);
    // Somebody may have answered in the meantime; the first answer counts.
    if (answer)
      await session
        .find()
        ?.answer(permission_id, answer, origin)
        .catch(() => {});
  };

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

  return {
    // A record that passes again asks nothing again.
    ask: (permission) => void (asked.has(permission.permission_id) || ask(permission)),
    withdraw(permissionId) {
      asked.get(permissionId)?.abort();
      asked.delete(permissionId);
    },
    close() {
      for (const abort of asked.values()) abort.abort();
      asked.clear();
    },
  };
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
