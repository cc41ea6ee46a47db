/** Applies the approval presets to the decisions of rules, remembered answers and classifier. */

import type { AgentParts } from "@chimera/host";
import type { CallPlace, Policy, PolicyCall, PolicyDecision } from "@chimera/policy";
import { classify } from "@chimera/sandbox/classify";
import type { Settings } from "@chimera/session";
import type { ApprovalPreset } from "./settings.js";

/** Returns the effective preset of a session in `cwd` with these options. */
type PresetWithin = (options: Settings["options"] | undefined, cwd: string) => ApprovalPreset;

export function approvalParts(within: PresetWithin): AgentParts {
  return {
    narrow: (policy) => ({
      ...policy,
      decide: (call, context) =>
        verdicts[within(context.settings.options, context.workspace.cwd)](policy, call, context),
    }),
  };
}

// --- internal ---

type Judge = (policy: Policy, call: PolicyCall, context: CallPlace) => Promise<PolicyDecision>;

const READERS: ReadonlySet<string> = new Set(["read", "search", "think"]);
const WRITERS: ReadonlySet<string> = new Set(["edit", "delete", "move"]);

const verdicts: Readonly<Record<ApprovalPreset, Judge>> = {
  "read-only": async (policy, call, context) => {
    const decision = await policy.decide(call, context);
    if (decision.decision === "deny" || onlyReads(call, context)) return decision;
    const why = `approval read-only allows reads only; switch it with /approval auto`;
    return { ...decision, decision: "deny", rule: "approval read-only", why };
  },
  // Edits follow the mode; other calls ask unless they are harmless.
  auto: async (policy, call, context) =>
    policy.decide(call, { ...context, settings: { ...context.settings, autoApproveExecute: false } }),
  full: async (policy, call, context) => {
    const decision = await policy.decide(call, context);
    const { autoApproveWrites, autoApproveExecute } = context.settings;
    const isApproved = WRITERS.has(call.tool.kind) ? autoApproveWrites : autoApproveExecute;
    if (decision.decision !== "ask" || !isApproved) return decision;
    return { ...decision, decision: "allow", rule: "approval full", why: "nothing is asked for" };
  },
};

/** Whether the call only reads, judged without rules, because a rule must not widen the preset. */
function onlyReads({ tool, touches }: PolicyCall, { workspace }: CallPlace): boolean {
  const { command, reads, writes } = touches;
  if (command === undefined) return READERS.has(tool.kind) && writes.length === 0;
  const cwd = reads[0];
  return classify(command, { workspace, ...(cwd !== undefined && { cwd }) }).decision === "allow";
}
