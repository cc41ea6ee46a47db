/** The rules that the calls of engines are held to before a person is asked: the same for every engine, since they see only a description. */
import type { Ask, TurnSettings, Workspace } from "@chimera/acp-schema/agent";
import type { Decision, ResolvedBy, Risk, ToolKind } from "@chimera/acp-schema/events";

/** A call as its engine describes it. */
export interface DescribedCall {
  readonly call_id: string;
  readonly tool: string;
  readonly kind: ToolKind;
  readonly args: Readonly<Record<string, unknown>>;
  readonly paths: readonly string[];
  readonly command?: string;
}

export interface CallPlace {
  readonly sessionId: string;
  readonly turn: number;
  readonly settings: TurnSettings;
  readonly workspace: Workspace;
}

export interface CallOutcome {
  readonly decision: Decision;
  /** `unasked`: the engine ran it without a question. */
  readonly by: ResolvedBy | "unasked";
}

export interface SessionPolicy {
  decide(
    call: DescribedCall,
    place: CallPlace,
  ): Promise<{ readonly decision: "allow" | "deny" | "ask"; readonly risk: Risk }>;
  /** Called with what became of a call: for memory and audit. A call whose outcome cannot be kept does not run. */
  decided(call: DescribedCall, place: CallPlace, outcome: CallOutcome): Promise<void>;
}

/** Without rules, the session's mode alone allows and refuses in advance. */
export const byMode: SessionPolicy = {
  async decide({ kind }, { settings }) {
    const isReading = READERS.has(kind);
    const risk = kind === "execute" ? "high" : isReading ? "low" : "medium";
    if (settings.readOnly && !isReading) return { decision: "deny", risk };
    const isApproved = kind === "execute" ? settings.autoApproveExecute : settings.autoApproveWrites;
    return { decision: isApproved ? "allow" : "ask", risk };
  },
  decided: async () => {},
};

/** Asks the rules first, where the engine describes the call, and the people after them. */
export function withPolicy(policy: SessionPolicy, place: () => CallPlace, ask: Ask): Ask {
  return async (request) => {
    const call = describedCall(request);
    if (!call) return ask(request);
    try {
      if (request.unasked) {
        await policy.decided(call, place(), { decision: "allow", by: "unasked" });
        return { decision: "allow", by: "rule" };
      }
      const { decision: ruled, risk } = await policy.decide(call, place());
      const answer = ruled === "ask" ? await ask({ ...request, risk }) : ({ decision: ruled, by: "rule" } as const);
      await policy.decided(call, place(), { decision: answer.decision, by: answer.by });
      return answer;
    } catch {
      // Rules that cannot be read, or an answer that cannot be kept, let nothing run.
      return { decision: "deny", by: "rule" };
    }
  };
}

// --- internal ---

const READERS: ReadonlySet<ToolKind> = new Set(["read", "search", "think", "fetch", "switch_mode"]);

function describedCall({ call_id, tool, args, kind, paths = [], command }: Parameters<Ask>[0]): DescribedCall | null {
  if (kind === undefined) return null;
  return { call_id, tool, kind, args, paths, ...(command !== undefined && { command }) };
}
