/** `@chimera/agent/policy`: who may call what, what was answered before, and the record of it. */
export {
  type Audit,
  type AuditOptions,
  type AuditProblem,
  type AuditReport,
  createAudit,
  verifyAudit,
} from "./audit.js";
export { type AgentPermission, type Classified, decide, type Facts } from "./decide.js";
export { type Circumstances, type Classify, createPolicy, type PolicyOptions } from "./policy.js";
export { createRemembered, type LastingAnswer, type Remembered, type RememberedOptions } from "./remembered.js";
export type { Action, Rule } from "./rule.js";
export { loadRuleset, parseRuleset, type Ruleset } from "./ruleset.js";
