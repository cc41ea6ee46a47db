/** A question of the engine as a permission of our session, and the answer to it out of the engine's own. */

import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from "@chimera/acp-schema";
import type { Ask, AskRequest } from "@chimera/acp-schema/agent";
import { DECISION_OF } from "@chimera/acp-schema/conversation";
import type { Decision, ToolKind } from "@chimera/acp-schema/events";
import { type CallState, isWriting } from "./call-state.js";

/** Asks about a call that the log has, and returns what to tell the engine. */
export async function settlePermission(
  state: CallState,
  { options }: RequestPermissionRequest,
  ask: Ask,
): Promise<RequestPermissionResponse> {
  const choices = options.map(({ optionId, name, kind }) => ({ id: optionId, name, kind }));
  const answer = await ask({ ...describe(state), options: decisionsOf(options), choices });
  return answer.by === "cancel" ? CANCELLED : outcomeOf(answer.decision, options, answer.choice);
}

/** A call as the session's rules know it. */
export function describe(state: CallState): AskRequest {
  const { id, tool, kind, args, title, diffs, locations } = state;
  const { command, cmd } = args as { command?: unknown; cmd?: unknown };
  const line = [command, cmd].map(commandLine).find((text) => text !== null);
  const paths = [...new Set([...diffs, ...locations.map(({ path }) => path)])];
  return {
    call_id: id,
    tool,
    args: { ...args },
    risk: "medium",
    call: {
      kind,
      names: [NAMES[kind] ?? tool, tool],
      touches: {
        reads: isWriting(state) ? [] : paths,
        writes: isWriting(state) ? paths : [],
        ...(kind === "execute" && { command: line ?? title }),
      },
    },
  };
}

export const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

// --- internal ---

/** The names that rules know tools of a kind by; an engine's own name counts too. */
const NAMES: Partial<Record<ToolKind, string>> = {
  read: "Read",
  edit: "Edit",
  execute: "Bash",
  search: "search",
  think: "think",
};
/** What each decision may be sent as, the nearest first: no refusal becomes one for good. */
const KINDS_OF: Readonly<Record<Decision, readonly PermissionOption["kind"][]>> = {
  allow: ["allow_once", "allow_always"],
  always: ["allow_always", "allow_once"],
  deny: ["reject_once"],
  never: ["reject_always", "reject_once"],
};

/** The decisions that the engine's options amount to; a refusal is always possible. */
function decisionsOf(options: readonly PermissionOption[]): Decision[] {
  const offered = new Set<Decision>(options.map(({ kind }) => DECISION_OF[kind]));
  offered.add("deny");
  return (["allow", "always", "deny", "never"] as const).filter((decision) => offered.has(decision));
}

/** An engine that offers no way to refuse hears that the question was cancelled. */
function outcomeOf(
  decision: Decision,
  options: readonly PermissionOption[],
  choice: string | undefined,
): RequestPermissionResponse {
  const chosen =
    options.find(({ optionId }) => optionId === choice) ??
    KINDS_OF[decision].map((kind) => options.find((option) => option.kind === kind)).find((option) => option);
  return chosen ? { outcome: { outcome: "selected", optionId: chosen.optionId } } : CANCELLED;
}

function commandLine(value: unknown): string | null {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.every((word) => typeof word === "string") ? value.join(" ") : null;
}
