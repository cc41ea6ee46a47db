/** The sandbox's classifier, given the rules that the agent's policy knows. */
import type { Classify } from "@chimera/agent/policy";
import { classify } from "@chimera/sandbox/classify";

export const classifyCommand: Classify = (command, { cwd, workspace, rules }) => {
  const patterns = (action: string) => rules.filter((rule) => rule.action === action).map(({ pattern }) => pattern);
  const { decision, risk, reason } = classify(command, {
    cwd,
    workspace,
    rules: { allow: patterns("allow"), ask: patterns("ask"), deny: patterns("deny") },
  });
  return { decision, risk, why: reason };
};
