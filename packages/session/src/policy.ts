/** The rules that calls are held to before a person is asked: the same for every engine, since they see only its description of a call. */
import type { Answer, Ask, AskRequest } from "@chimera/acp-schema/agent";
import type { Decision, Metadata, ToolKind } from "@chimera/acp-schema/events";
import type { AuditEntry, CallPlace, Policy, PolicyCall } from "@chimera/acp-schema/policy";
import type { Question } from "./question.js";

/** Without rules, reading is free and the session's mode alone allows and refuses the rest in advance. */
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
  /** As it stands at each call: a mode may change while a turn runs. */
  readonly place: () => CallPlace;
  /** Asks the people. */
  readonly ask: (question: Question) => Promise<Answer>;
  readonly record: (violation: { type: "sandbox_violation"; metadata: Metadata<"sandbox_violation"> }) => void;
}

/** Asks the rules first, where the engine describes the call, and the people after them. Every decision on a described call is audited. */
export function consulting(broker: Consulting): Ask {
  return async (request) => {
    const { call } = request;
    try {
      if (!call) return await broker.ask(await questionFor(request));
      const [name = request.tool, ...aliases] = call.names ?? [];
      const subject = { tool: { name, aliases, kind: call.kind }, args: request.args, touches: call.touches };
      return request.unasked
        ? await noteUnasked(broker, request, broker.place())
        : await answerTo(broker, request, subject);
    } catch (error) {
      // Rules that cannot be read, or an answer that cannot be kept, let nothing run.
      return { decision: "deny", by: "rule", why: error instanceof Error ? error.message : String(error) };
    }
  };
}

// --- internal ---

const READERS: ReadonlySet<ToolKind> = new Set(["read", "search", "think", "switch_mode"]);

async function answerTo(
  { policy, place: placeNow, ask, record }: Consulting,
  request: AskRequest,
  call: PolicyCall,
): Promise<Answer> {
  const place = placeNow();
  const { decision: ruled, rule, why, risk, violation } = await policy.decide(call, place);
  const answer: Answer =
    ruled === "ask"
      ? await ask(await questionFor({ ...request, risk }))
      : { decision: ruled, by: "rule", why, ...(violation && { isViolation: true }) };
  const { decision, by, person } = answer;
  const answered = ruled === "ask" ? decision : null;
  if (answered === "always" || answered === "never") await policy.remember(call, answered, place);
  await policy.audit(entryOf(request, place, { decision, answer: answered, by, rule, why, ...(person && { person }) }));
  if (violation) record({ type: "sandbox_violation", metadata: { tool: request.tool, ...violation, reason: why } });
  return answer;
}

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
