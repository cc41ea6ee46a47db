/** Asks our session for permission on behalf of the engine, and picks the engine's option for the answer. */

import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from "@chimera/acp-schema";
import type { Ask, AskRequest } from "@chimera/acp-schema/agent";
import { DECISION_OF } from "@chimera/acp-schema/conversation";
import type { Decision, ToolKind } from "@chimera/acp-schema/events";
import { type CallState, isWriting } from "./call-state.js";

/** Asks about a call that is already in the log, and returns the answer for the engine. */
export async function settlePermission(
  state: CallState,
  { options }: RequestPermissionRequest,
  ask: Ask,
): Promise<RequestPermissionResponse> {
  const choices = options.map(({ optionId, name, kind }) => ({ id: optionId, name, kind }));
  const answer = await ask({ ...describe(state), options: decisionsOf(options), choices });
  return answer.by === "cancel" ? CANCELLED : outcomeOf(answer.decision, options, answer.choice);
}

/** Describes a call for the session's rules. */
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

/** The tool names that rules use for each kind. An engine's own name counts too. */
const NAMES: Partial<Record<ToolKind, string>> = {
  read: "Read",
  edit: "Edit",
  execute: "Bash",
  search: "search",
  think: "think",
};
/** The kinds of options that a decision may be sent as, the nearest first. A single refusal is never sent as a permanent one. */
const KINDS_OF: Readonly<Record<Decision, readonly PermissionOption["kind"][]>> = {
  allow: ["allow_once", "allow_always"],
  always: ["allow_always", "allow_once"],
  deny: ["reject_once"],
  never: ["reject_always", "reject_once"],
};

/** The decisions that the engine's options allow. A refusal is always possible. */
function decisionsOf(options: readonly PermissionOption[]): Decision[] {
  const offered = new Set<Decision>(options.map(({ kind }) => DECISION_OF[kind]));
  offered.add("deny");
  return (["allow", "always", "deny", "never"] as const).filter((decision) => offered.has(decision));
}

/** The engine's option for a decision. An engine without an option to refuse gets the answer that the question was cancelled. */
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
