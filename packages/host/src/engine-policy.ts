/** The rules of the built-in engine for the calls of every other one: an engine describes a call, and the same rules judge it. */
import type { Policy, PolicyCall, PolicyDecision } from "@chimera/agent";
import type { CallPlace, DescribedCall, SessionPolicy } from "@chimera/session";

type PolicyFor = (session: { sessionId: string; agent: string; cwd: string }) => Promise<Policy>;

export function createEnginePolicy(policyFor: PolicyFor): SessionPolicy {
  /** What was decided of a call, until its outcome is written down. */
  const verdicts = new WeakMap<DescribedCall, PolicyDecision>();
  const policyOf = ({ sessionId, settings, workspace }: CallPlace) =>
    policyFor({ sessionId, agent: settings.agent, cwd: workspace.cwd });
  return {
    async decide(call, place) {
      const verdict = await (await policyOf(place)).decide(policyCall(call), place);
      verdicts.set(call, verdict);
      return verdict;
    },
    async decided(call, place, { decision, by }) {
      const policy = await policyOf(place);
      const { rule = null, why = "the engine did not ask" } = verdicts.get(call) ?? {};
      const { sessionId, turn } = place;
      const { call_id: callId, tool, args } = call;
      const isAllowed = decision === "allow" || decision === "always";
      const answer = by === "client" ? decision : null;
      await policy.audit({
        sessionId,
        turn,
        callId,
        tool,
        args,
        decision: isAllowed ? "allow" : "deny",
        answer,
        by,
        rule,
        why,
      });
      if (answer === "always" || answer === "never") await policy.remember(policyCall(call), answer, place);
    },
  };
}

// --- internal ---

/** The names that rules know tools of a kind by; an engine's own name counts too. */
const NAMES: Partial<Record<DescribedCall["kind"], string>> = {
  read: "Read",
  edit: "Edit",
  execute: "Bash",
  search: "search",
  think: "think",
};
const READERS: ReadonlySet<string> = new Set(["read", "search", "think", "fetch"]);

function policyCall({ tool, kind, args, paths, command }: DescribedCall): PolicyCall {
  const isReading = READERS.has(kind);
  return {
    tool: { name: NAMES[kind] ?? tool, aliases: [tool], kind },
    args,
    touches: {
      reads: isReading ? paths : [],
      writes: isReading ? [] : paths,
      ...(command !== undefined && { command }),
    },
  };
}
