/** Whether a call may run: the policy's word, or a person's where the policy says so; each decision audited. */
import type { Decision, ResolvedBy } from "@chimera/acp-schema/events";
import type { Call, Runnable } from "./call.js";
import type { Run } from "./run.js";

/** Why a call may not run, in words for the model, and what kind of refusal it is. */
export interface Refusal {
  readonly why: string;
  readonly error: "permission_denied" | "sandbox_violation";
}

/** null when it may run. */
export async function refusalOf(run: Run, call: Call, { tool, touches }: Runnable): Promise<Refusal | null> {
  const { policy, workspace, turn } = run;
  const subject = { tool, args: call.args, touches };
  const { autoApproveWrites, autoApproveExecute, readOnly } = run.flags();
  const context = { settings: { ...turn.settings, autoApproveWrites, autoApproveExecute, readOnly }, workspace };
  const { decision, rule, why, risk, violation } = await policy.decide(subject, context);

  let allowed = decision === "allow";
  let answered: Decision | null = null;
  let by: ResolvedBy = "rule";
  if (decision === "ask") {
    await run.taken();
    const request = { call_id: call.id, tool: tool.name, args: call.args, risk };
    const answer = await run.ask(request);
    allowed = answer.decision === "allow" || answer.decision === "always";
    by = answer.by;
    answered = answer.decision;
    if (isLasting(answer.decision)) await policy.remember(subject, answer.decision, context);
  }
  await policy.audit({
    sessionId: turn.sessionId,
    turn: turn.number,
    callId: call.id,
    tool: tool.name,
    args: call.args,
    decision: allowed ? "allow" : "deny",
    answer: answered,
    by,
    rule,
    why,
  });
  if (allowed) return null;
  if (!violation) return { why: REFUSALS[by](why), error: "permission_denied" };
  run.emit({ type: "sandbox_violation", metadata: { tool: tool.name, ...violation, reason: why } });
  return { why, error: "sandbox_violation" };
}

// --- internal ---

function isLasting(decision: Decision): decision is "always" | "never" {
  return decision === "always" || decision === "never";
}

const REFUSALS: Readonly<Record<ResolvedBy, (why: string) => string>> = {
  rule: (why) => `Not permitted: ${why}`,
  client: () => "The user denied this call. Do not try it again; ask what to do instead, or go on without it.",
  timeout: () => "Nobody answered the permission request, so the call was denied.",
  cancel: () => "The turn was cancelled before anybody answered.",
  eviction: () => "The session was closed before anybody answered.",
};
