/** Applies the rules to a call before a person is asked. The rules are the same for every engine: they see only its description of a call. */
import type { Answer, AskRequest } from "@chimera/acp-schema/agent";
import type { Decision, Metadata, PermissionChoice, ToolKind } from "@chimera/acp-schema/events";
import type { AuditEntry, CallPlace, Policy, PolicyCall, Wider } from "@chimera/acp-schema/policy";
import type { Question } from "./kinds-of-question.js";

/** The policy without rules: reading is allowed, and the session's mode decides everything else. */
export const byMode: Policy = {
  decide({ tool: { kind } }, { settings }) {
    const isReading = READERS.has(kind);
    const risk = kind === "execute" ? "high" : isReading ? "low" : "medium";
    const isApproved = isReading || (kind === "execute" ? settings.autoApproveExecute : settings.autoApproveWrites);
    const decision = settings.readOnly && !isReading ? "deny" : isApproved ? "allow" : "ask";
    return { decision, rule: null, why: `the session's mode says ${decision}`, risk };
  },
  remember: async () => {},
  audit: async () => {},
};

export interface Consulting {
  readonly policy: Policy;
  /** Read anew for each call, because a mode may change while a turn runs. */
  readonly place: () => CallPlace;
  /** Asks people. */
  readonly ask: (question: Question) => Promise<Answer>;
  /** Allows further edits in the workspace without asking. */
  readonly approveEdits: () => Promise<void>;
  readonly record: (violation: { type: "sandbox_violation"; metadata: Metadata<"sandbox_violation"> }) => void;
}

/** Decides a call: by the rules if the engine describes the call, else or if they do not decide, by asking people. Audits described calls. */
export async function consult(broker: Consulting, request: AskRequest): Promise<Answer> {
  const { call } = request;
  try {
    if (!call) return await broker.ask(await questionFor(request));
    const [name = request.tool, ...aliases] = call.names ?? [];
    const subject = { tool: { name, aliases, kind: call.kind }, args: request.args, touches: call.touches };
    return request.unasked
      ? await noteUnasked(broker, request, broker.place())
      : await answerTo(broker, request, subject);
  } catch (error) {
    // If the rules cannot be read or the answer cannot be stored, nothing may run.
    return { decision: "deny", by: "rule", why: error instanceof Error ? error.message : String(error) };
  }
}

// --- internal ---

const READERS: ReadonlySet<ToolKind> = new Set(["read", "search", "think", "switch_mode"]);

const STRICTNESS = ["allow", "ask", "deny"];

async function answerTo(
  { policy, place: placeNow, ask, record, approveEdits }: Consulting,
  request: AskRequest,
  call: PolicyCall,
): Promise<Answer> {
  const place = placeNow();
  const verdict = await policy.decide(call, place);
  const { agent } = request.call ?? {};
  const ofAgent = agent && (await policy.decide(call, { ...place, settings: { ...place.settings, agent } }));
  // The rules of a task's agent hold in addition to those of the session: the stricter decision counts.
  const isStricter = ofAgent && STRICTNESS.indexOf(ofAgent.decision) > STRICTNESS.indexOf(verdict.decision);
  const { decision: ruled, rule, why, risk, violation, wider = [] } = isStricter ? ofAgent : verdict;
  const answer: Answer =
    ruled === "ask"
      ? await ask(await questionFor({ ...request, risk, ...choicesWith(wider, request) }))
      : { decision: ruled, by: "rule", why, ...(violation && { isViolation: true }) };
  const { decision, by, person } = answer;
  const answered = ruled === "ask" ? decision : null;
  const scope = request.choices ? undefined : wider.find((one) => answer.choice === idOf(one))?.scope;
  if (scope === "edits") await approveEdits();
  else if (answered === "always" || answered === "never") await policy.remember(call, answered, place, scope);
  await policy.audit(entryOf(request, place, { decision, answer: answered, by, rule, why, ...(person && { person }) }));
  if (violation) record({ type: "sandbox_violation", metadata: { tool: request.tool, ...violation, reason: why } });
  return answer;
}

/** The usual choices and those that hold for more than this call. Empty if the engine has choices of its own. */
function choicesWith(wider: readonly Wider[], request: AskRequest): { readonly choices?: readonly PermissionChoice[] } {
  if (wider.length === 0 || request.choices) return {};
  const more = wider.map((one) => ({ id: idOf(one), name: one.name, kind: "allow_always" as const }));
  // No two edits are equal, so "always allow this exact edit" is hardly useful and comes last.
  const isEdit = wider.some(({ scope }) => scope === "edits");
  const lasting = isEdit ? [...more, EXACT] : [EXACT, ...more];
  return { choices: [ONCE, ...lasting, ...REJECTIONS] };
}

const idOf = ({ scope }: Wider) => `allow_${scope}`;
const ONCE: PermissionChoice = { id: "allow_once", name: "Allow once", kind: "allow_once" };
const EXACT: PermissionChoice = { id: "allow_always", name: "Always allow this exact call", kind: "allow_always" };
const REJECTIONS: readonly PermissionChoice[] = [
  { id: "reject_once", name: "Reject", kind: "reject_once" },
  { id: "reject_always", name: "Always reject this exact call", kind: "reject_always" },
];

async function noteUnasked({ policy }: Consulting, request: AskRequest, place: CallPlace): Promise<Answer> {
  const why = "the engine did not ask";
  await policy.audit(entryOf(request, place, { decision: "allow", answer: null, by: "unasked", rule: null, why }));
  return { decision: "allow", by: "rule" };
}

async function questionFor({ content, ...request }: AskRequest): Promise<Question> {
  return content ? { ...request, content: typeof content === "function" ? await content() : content } : request;
}

function entryOf(
  { call_id, tool, args }: AskRequest,
  { sessionId, turn }: CallPlace,
  {
    decision,
    ...outcome
  }: Pick<AuditEntry, "answer" | "by" | "rule" | "why" | "person"> & { readonly decision: Decision },
): AuditEntry {
  const isAllowed = decision === "allow" || decision === "always";
  return { sessionId, turn, callId: call_id, tool, args, decision: isAllowed ? "allow" : "deny", ...outcome };
}
