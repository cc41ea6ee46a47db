/** `@chimera/policy`: permission rules, remembered answers and the audit log, for every engine. */
export type {
  Action,
  AgentPermission,
  AnswerLines,
  AuditChain,
  AuditChains,
  AuditEntry,
  CallPlace,
  ChainHead,
  Policy,
  PolicyCall,
  PolicyDecision,
  Rule,
  StoredChain,
} from "@chimera/acp-schema/policy";
export { type Audit, type AuditProblem, type AuditReport, createAudit, verifyAudit } from "./audit.js";
export { auditFiles, fileChain } from "./audit-files.js";
export { type CopiedAudit, copyAnswers, copyAudit } from "./copy-kept.js";
export { type CallFacts, type Classified, decide } from "./decide.js";
export { type Circumstances, type Classify, classifyCommand, createPolicy, type PolicyOptions } from "./policy.js";
export { answerFiles, createRemembered, type LastingAnswer, type Remembered } from "./remembered.js";
export { loadProjectRules, loadRuleset, PROJECT_RULE_FILES, parseRuleset, type Ruleset } from "./ruleset.js";
