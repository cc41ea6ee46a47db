/** The sandbox's classifier of shell commands, given the rules that the policy knows. */
import type { Classify } from "./policy.js";

export const classifyCommand: Classify = async (command, { cwd, workspace, rules }) => {
  // The grammar of the shell comes with the first command.
  const { classify } = await import("@chimera/sandbox/classify");
  const patterns = (action: string) => rules.filter((rule) => rule.action === action).map(({ pattern }) => pattern);
  const { decision, risk, reason } = classify(command, {
    cwd,
    workspace,
    rules: { allow: patterns("allow"), ask: patterns("ask"), deny: patterns("deny") },
  });
  return { decision, risk, why: reason };
};
