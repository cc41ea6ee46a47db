/** `@chimera/policy`: who may call what, what was answered before, and the record of it; the same for every engine. */
export type {
  Action,
  AgentPermission,
  AuditEntry,
  CallPlace,
  Policy,
  PolicyCall,
  PolicyDecision,
  Rule,
} from "@chimera/acp-schema/policy";
export {
  type Audit,
  type AuditChain,
  type AuditOptions,
  type AuditProblem,
  type AuditReport,
  type ChainHead,
  createAudit,
  type StoredChain,
  verifyAudit,
} from "./audit.js";
export { type CallFacts, type Classified, decide } from "./decide.js";
export { type Circumstances, type Classify, classifyCommand, createPolicy, type PolicyOptions } from "./policy.js";
export {
  type AnswerLines,
  createRemembered,
  type LastingAnswer,
  type Remembered,
  type RememberedOptions,
} from "./remembered.js";
export { loadProjectRules, loadRuleset, PROJECT_RULE_FILES, parseRuleset, type Ruleset } from "./ruleset.js";
