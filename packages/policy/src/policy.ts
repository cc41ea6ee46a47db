/** The policy of a program's sessions: brings rules, remembered answers and the audit log to the pure decision. */
import { realpathSync } from "node:fs";
import { createMeter } from "@chimera/acp-schema/glob";
import { orElse } from "@chimera/acp-schema/lenient";
import type { AgentPermission, CallPlace, Policy, PolicyCall, Rule, Wider } from "@chimera/acp-schema/policy";
import type { Audit } from "./audit.js";
import { type Classified, decide } from "./decide.js";
import type { Remembered } from "./remembered.js";
import { isAbout, isCommandRule, prefixOf } from "./rule.js";
import { NO_RULES, type Ruleset } from "./ruleset.js";

/** Judges a command line by its text. */
export type Classify = (command: string, circumstances: Circumstances) => Classified | Promise<Classified>;

export interface Circumstances {
  /** The directory in which the command would run. */
  readonly cwd: string;
  readonly workspace: { readonly cwd: string; readonly directories: readonly string[] };
  /** The rules to apply to each command of the line. Of several that match, a `deny` goes before an `ask`, and both before an `allow`. */
  readonly rules: readonly { readonly pattern: string; readonly action: Rule["action"] }[];
}

export interface PolicyOptions {
  /** The user's rules. A function is called for every decision, so that a change takes effect at once. @defaultValue none */
  readonly rules?: Ruleset | (() => Ruleset | Promise<Ruleset>);
  /** The rules of the project in `cwd`, which can only restrict. @defaultValue none */
  readonly projectRules?: (cwd: string) => Ruleset | Promise<Ruleset>;
  /** The permissions of the agent definition with this name. @defaultValue none */
  readonly agent?: (name: string, cwd: string) => AgentPermission | null | Promise<AgentPermission | null>;
  /** Directories outside the workspace that a session may read, with files from its engine. @defaultValue none */
  readonly readable?: (sessionId: string) => readonly string[];
  /** Directories with the program's data about all sessions, which no tool may touch except `readable` ones below. @defaultValue none */
  readonly hidden?: readonly string[];
  /** @defaultValue answers are not remembered */
  readonly remembered?: Remembered;
  /** @defaultValue decisions are not logged */
  readonly audit?: Audit;
  /** @defaultValue `classifyCommand` */
  readonly classify?: Classify;
}

/**
 * Answers permission questions before a person is asked: rules, modes, command risk and remembered answers.
 *
 * @example
 * const policy = createPolicy({ rules: () => loadRuleset(join(home, "permissions.json")) });
 * const sessions = createSessions({ ...deps, policy });
 */
export function createPolicy(options: PolicyOptions = {}): Policy {
  const { classify = classifyCommand } = options;
  return {
    decide: async (call, place) => {
      const roots = rootsOf(place);
      const [rules, projectRules, agent, remembered] = await Promise.all([
        typeof options.rules === "function" ? options.rules() : (options.rules ?? NO_RULES),
        options.projectRules?.(place.workspace.cwd) ?? NO_RULES,
        options.agent?.(place.settings.agent, place.workspace.cwd) ?? null,
        options.remembered?.recall(roots[0], call) ?? null,
      ]);
      // Rules from the project may restrict a command, but not allow it.
      const foreign = [...projectRules.rules, ...(agent?.trusted ? [] : (agent?.rules ?? []))];
      const own = [...rules.rules, ...(agent?.trusted ? agent.rules : [])];
      const narrowing = foreign.filter(({ action }) => action !== "allow");
      const prefixes = (await options.remembered?.prefixes(roots[0])) ?? [];
      // An earlier version may have offered a prefix that allows too much.
      const learned = prefixes.filter((words) => prefixOf(words.join(" "))?.length === words.length).map(prefixRule);
      const judge = (more: readonly Rule[]) => classifyCall(call, roots, [...own, ...more, ...narrowing], classify);
      const classified = await judge(learned);
      const readable = (options.readable?.(place.sessionId) ?? []).map(real);
      const hidden = (options.hidden ?? []).map(real);
      const { settings } = place;
      const facts = { settings, roots, readable, hidden, rules, projectRules, agent, remembered, classified };
      const decision = decide(call, facts);
      if (decision.decision !== "ask") return decision;
      // Offer a wider answer only if it would allow this call.
      const wider: Wider[] = [];
      const prefix = call.touches.isShell && options.remembered ? prefixOf(call.touches.command ?? "") : null;
      if (prefix !== null) {
        const allowed = await judge([...learned, prefixRule(prefix)]);
        if (decide(call, { ...facts, classified: allowed }).decision === "allow")
          wider.push({
            scope: "prefix",
            name: `Always allow commands that begin with ${prefix.join(" ")}, in this workspace`,
          });
      }
      const editing = { ...settings, autoApproveWrites: true };
      if (call.touches.writes.length > 0 && decide(call, { ...facts, settings: editing }).decision === "allow")
        wider.push({ scope: "edits", name: "Allow edits in this workspace for this session" });
      return wider.length === 0 ? decision : { ...decision, wider };
    },
    remember: async (call, answer, place, scope = "call") => {
      const prefix = scope === "prefix" ? prefixOf(call.touches.command ?? "") : undefined;
      if (prefix === null) throw new Error("this command has no prefix that could be allowed");
      await options.remembered?.remember(rootsOf(place)[0], call, answer, prefix);
    },
    audit: async (entry) => {
      await options.audit?.append(entry);
    },
  };
}

/** Classifies with the sandbox's classifier of shell commands and the policy's rules. */
export const classifyCommand: Classify = async (command, { cwd, workspace, rules }) => {
  // Imported with the first command, because it loads the grammar of the shell.
  const { classify } = await import("@chimera/sandbox/classify");
  const patterns = (action: string) => rules.filter((rule) => rule.action === action).map(({ pattern }) => pattern);
  const { decision, risk, reason } = classify(command, {
    cwd,
    workspace,
    rules: { allow: patterns("allow"), ask: patterns("ask"), deny: patterns("deny") },
  });
  return { decision, risk, why: reason };
};

// --- internal ---

/** A remembered prefix as a rule, which the classifier applies to each command of a line like a rule of the person. */
function prefixRule(prefix: readonly string[]): Rule {
  return { tool: "*", action: "allow", argKey: "command", argPattern: `${prefix.join(" ")}*`, source: "remembered" };
}

function rootsOf({ workspace }: CallPlace): [string, ...string[]] {
  return [real(workspace.cwd), ...workspace.directories.map(real)];
}

function real(path: string): string {
  return orElse(() => realpathSync.native(path), path);
}

async function classifyCall(
  call: PolicyCall,
  [cwd, ...directories]: readonly [string, ...string[]],
  rules: readonly Rule[],
  classify: Classify,
): Promise<Classified | null> {
  const { command, reads } = call.touches;
  if (command === undefined) return null;
  const meter = createMeter();
  const onCommands = rules.filter((rule) => isCommandRule(rule, call) && isAbout(rule, call, meter));
  return classify(command, {
    cwd: reads[0] ?? cwd,
    workspace: { cwd, directories },
    rules: onCommands.map(({ argPattern = "*", action }) => ({ pattern: argPattern, action })),
  });
}
