/** The decision about a call, as a pure function of the call and the facts about it; and the risk of the call. */
import { relative } from "node:path";
import type { TurnSettings } from "@chimera/acp-schema/agent";
import type { Risk } from "@chimera/acp-schema/events";
import { createMeter, type Meter } from "@chimera/acp-schema/glob";
import type { Action, AgentPermission, PolicyCall, PolicyDecision, Rule } from "@chimera/acp-schema/policy";
import { isInside, isSecret } from "@chimera/sandbox/secrets";
import { fitsArgument, isAbout, isCommandRule, isPathRule } from "./rule.js";
import type { Ruleset } from "./ruleset.js";

/** The result of a classifier of shell commands. */
export interface Classified {
  readonly decision: Action;
  readonly risk: Risk;
  readonly why: string;
  /** Whether `ask` applies even to commands that are approved in advance. @defaultValue only if a rule on commands asks or denies */
  readonly isFirm?: boolean;
}

export interface CallFacts {
  readonly settings: Pick<TurnSettings, "autoApproveWrites" | "autoApproveExecute" | "readOnly">;
  /** Real paths: the workspace first, then its additional directories. */
  readonly roots: readonly [string, ...string[]];
  /** Real paths of directories outside the workspace that reading tools may read. @defaultValue none */
  readonly readable?: readonly string[];
  /** Real paths of directories that no tool may touch, except `readable` ones below them. @defaultValue none */
  readonly hidden?: readonly string[];
  /** The user's own rules, which may allow. */
  readonly rules: Ruleset;
  /** The project's rules, which may only restrict. */
  readonly projectRules: Ruleset;
  readonly agent: AgentPermission | null;
  readonly remembered: "always" | "never" | null;
  /** Null for a call without a command line. */
  readonly classified: Classified | null;
}

/**
 * Applies defaults and modes, then the user's rules, then everything that restricts, then remembered answers, which never lift a denial,
 * and last the program's private directories.
 *
 * @example
 * const { decision, why } = decide(call, { ...facts, rules, projectRules: { rules: [], problems: [] } });
 */
export function decide(call: PolicyCall, facts: CallFacts): PolicyDecision {
  const steps = [byUser, byAgent, byPlace, byProject, byReadOnly, byMemory, byOwner];
  const metered = { ...facts, meter: createMeter() };
  const verdict = steps.reduce((current, step) => step(current, call, metered), byDefault(call, metered));
  return {
    decision: verdict.action,
    rule: verdict.rule,
    why: verdict.why,
    risk: facts.classified?.risk ?? riskOf(call),
  };
}

// --- internal ---

/** The highest risk of the tool's kind and of the paths: a label for the person who is asked. It protects nothing. */
function riskOf({ tool, touches }: PolicyCall): Risk {
  const risks: Risk[] = [
    READERS.has(tool.kind) ? "low" : "medium",
    ...[...touches.reads, ...touches.writes].map(pathRisk),
  ];
  return risks.reduce((worst, risk) => (ORDER.indexOf(risk) > ORDER.indexOf(worst) ? risk : worst));
}

/** Files that hold secrets or steer the system. */
function pathRisk(path: string): Risk {
  return PATHS.find(({ pattern }) => pattern.test(path))?.risk ?? (isSecret(path) ? "high" : "low");
}

interface Verdict {
  readonly action: Action;
  readonly rule: string | null;
  readonly why: string;
  /** Whether a rule names particular files, so that it applies outside the workspace too. */
  readonly exact?: boolean;
}

/** Facts with a meter that limits the cost of all rules together, because a project may contain slow rules. */
type Metered = CallFacts & { readonly meter: Meter };

const READERS: ReadonlySet<string> = new Set(["read", "search", "think"]);
const WRITERS: ReadonlySet<string> = new Set(["edit", "delete", "move"]);
const STRICTNESS: readonly Action[] = ["allow", "ask", "deny"];

function byDefault(call: PolicyCall, facts: Metered): Verdict {
  const { settings, rules, agent, classified } = facts;
  const { kind } = call.tool;
  if (READERS.has(kind)) {
    const action = rules.default === "ask" ? "allow" : (rules.default ?? "allow");
    return { action, rule: null, why: action === "allow" ? "reading is free" : `the default is ${action}` };
  }
  if (classified?.decision === "deny") return { action: "deny", rule: "command", why: classified.why };
  const approved = WRITERS.has(kind) ? settings.autoApproveWrites : settings.autoApproveExecute;
  const trusting = agent?.trusted && agent.permission === "auto_approve";
  if (approved || trusting) return approveAhead(call, facts, trusting ? `agent ${agent.name}` : null);
  if (classified?.decision === "allow") return { action: "allow", rule: "command", why: classified.why };
  const action = rules.default ?? "ask";
  const why = action === "ask" ? "it may change something" : `the default is ${action}`;
  return { action, rule: null, why };
}

/** Approves in advance, except that such a mode must not bypass a rule that asks or denies. */
function approveAhead(call: PolicyCall, facts: Metered, rule: string | null): Verdict {
  const { rules, projectRules, agent, classified, meter } = facts;
  const limiting = (all: readonly Rule[]) =>
    all.filter((each) => each.action !== "allow" && isAbout(each, call, meter) && isCommandRule(each, call));
  // The classifier has applied these rules to each command of the line, so one of them may be the reason for `ask`.
  const isDoubted = () => limiting([...rules.rules, ...projectRules.rules, ...(agent?.rules ?? [])]).length > 0;
  if (classified?.decision === "ask" && (classified.isFirm || isDoubted()))
    return { action: "ask", rule: "command", why: classified.why };
  return { action: "allow", rule, why: "such calls are approved in advance" };
}

function byUser(current: Verdict, call: PolicyCall, facts: Metered): Verdict {
  if (facts.classified?.decision === "deny" && call.touches.command !== undefined) return current;
  return lastMatch(facts.rules.rules, call, facts) ?? current;
}

function byAgent(current: Verdict, call: PolicyCall, facts: Metered): Verdict {
  const { agent } = facts;
  if (!agent) return current;
  if (agent.permission !== "interactive" && agent.permission !== "auto_approve" && !READERS.has(call.tool.kind)) {
    return { action: "deny", rule: `agent ${agent.name}`, why: `the agent ${agent.name} only reads` };
  }
  const ruled = lastMatch(agent.rules, call, facts);
  if (!ruled) return current;
  return agent.trusted && current.action !== "deny" ? ruled : stricter(current, ruled);
}

/** Asks about files outside the workspace, files that may hold secrets, and files that steer other programs. */
function byPlace(current: Verdict, { tool, touches }: PolicyCall, { roots, readable = [] }: CallFacts): Verdict {
  if (current.action !== "allow" || current.exact) return current;
  const places = READERS.has(tool.kind) ? [...roots, ...readable] : roots;
  const outside = [...touches.reads, ...touches.writes].find((path) => withinRoot(path, places) === null);
  if (outside !== undefined) return { action: "ask", rule: "workspace", why: `${outside} is outside the workspace` };
  const secret = touches.reads.find((path) => isSecret(path, withinRoot(path, places) ?? path));
  if (secret !== undefined) return { action: "ask", rule: "secrets", why: `${secret} may hold secrets` };
  const guarded = touches.writes.find((path) => isProtected(withinRoot(path, roots) ?? path));
  if (guarded !== undefined) return { action: "ask", rule: "protected", why: `${guarded} steers other programs` };
  return current;
}

function byProject(current: Verdict, call: PolicyCall, facts: Metered): Verdict {
  const ruled = lastMatch(facts.projectRules.rules, call, facts);
  return ruled ? stricter(current, ruled) : current;
}

function byReadOnly(current: Verdict, { tool }: PolicyCall, { settings }: CallFacts): Verdict {
  if (!settings.readOnly || READERS.has(tool.kind)) return current;
  return { action: "deny", rule: "read-only", why: "the session is read-only" };
}

function byMemory(current: Verdict, _: PolicyCall, { remembered }: CallFacts): Verdict {
  if (remembered === "never") return { action: "deny", rule: "remembered", why: "the same call was refused for good" };
  if (remembered === "always" && current.action === "ask") {
    return { action: "allow", rule: "remembered", why: "the same call was allowed for good" };
  }
  return current;
}

/** Denies access to the program's data about other sessions, even if a person or a rule allows it. */
function byOwner(current: Verdict, { touches }: PolicyCall, { roots, readable = [], hidden = [] }: CallFacts): Verdict {
  const others = hidden.filter((place) => !roots.some((root) => isInside(root, place)));
  const found = [...touches.reads, ...touches.writes].find(
    (path) => withinRoot(path, others) !== null && withinRoot(path, readable) === null,
  );
  if (found === undefined) return current;
  return { action: "deny", rule: "private", why: `${found} belongs to the program and to other sessions` };
}

function lastMatch(rules: readonly Rule[], call: PolicyCall, facts: Metered): Verdict | null {
  for (const rule of rules.toReversed()) {
    if (!isAbout(rule, call, facts.meter)) continue;
    const action = actionFor(rule, call, facts);
    if (action === null) continue;
    const why = rule.description ?? `${rule.source} says ${action}`;
    return { action, rule: rule.source, why, exact: isPathRule(rule) };
  }
  return null;
}

function actionFor(rule: Rule, call: PolicyCall, { roots, classified, meter }: Metered): Action | null {
  // The classifier has already applied the rules on commands to each command of the line.
  if (isCommandRule(rule, call)) return classified ? null : "ask";
  return fitsArgument(rule, call, roots[0], meter) ? rule.action : null;
}

function stricter(a: Verdict, b: Verdict): Verdict {
  return STRICTNESS.indexOf(b.action) > STRICTNESS.indexOf(a.action) ? b : a;
}

/** The path relative to the root that contains it, so that the names of the directories above the root do not matter. */
function withinRoot(path: string, roots: readonly string[]): string | null {
  const root = roots.find((candidate) => isInside(path, candidate));
  return root === undefined ? null : relative(root, path);
}

const PROTECTED: ReadonlySet<string> = new Set(
  ".git .hg .svn .opencode .chimera .claude .codex .cursor .vscode .idea .envrc".split(" "),
);

function isProtected(path: string): boolean {
  return path.split(/[\\/]/).some((name) => PROTECTED.has(name.toLowerCase()));
}

const ORDER: readonly Risk[] = ["low", "medium", "high", "critical"];

const PATHS: readonly { readonly pattern: RegExp; readonly risk: Risk }[] = [
  { pattern: /(?:^|[\\/])\.(?:ssh|gnupg|aws)(?:[\\/]|$)/i, risk: "critical" },
  { pattern: /(?:^|[\\/])(?:credentials|secrets|tokens)\.(?:json|ya?ml|toml)$/i, risk: "critical" },
  { pattern: /^[\\/](?:etc|proc|sys|dev|boot)[\\/]/, risk: "high" },
  { pattern: /(?:^|[\\/])\.git[\\/]/i, risk: "medium" },
];
