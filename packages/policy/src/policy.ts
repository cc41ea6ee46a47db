/** The policy of a program's sessions: rules, memory and audit around the pure decision. */
import { realpathSync } from "node:fs";
import { createMeter } from "@chimera/acp-schema/glob";
import type { AgentPermission, CallPlace, Policy, PolicyCall, Rule } from "@chimera/acp-schema/policy";
import type { Audit } from "./audit.js";
import { type Classified, decide } from "./decide.js";
import type { Remembered } from "./remembered.js";
import { isAbout, isCommandRule } from "./rule.js";
import { NO_RULES, type Ruleset } from "./ruleset.js";

/** Judges a command line by its text. */
export type Classify = (command: string, circumstances: Circumstances) => Classified | Promise<Classified>;

export interface Circumstances {
  /** Where the command would run. */
  readonly cwd: string;
  readonly workspace: { readonly cwd: string; readonly directories: readonly string[] };
  /** The rules on commands that apply, to be held against each command of the line; the last that matches wins. */
  readonly rules: readonly { readonly pattern: string; readonly action: Rule["action"] }[];
}

export interface PolicyOptions {
  /** The user's rules; a function is called anew for every call, so that a change counts at once. @defaultValue none */
  readonly rules?: Ruleset | (() => Ruleset | Promise<Ruleset>);
  /** Rules of the project in `cwd`: they can narrow, never widen. @defaultValue none */
  readonly projectRules?: (cwd: string) => Ruleset | Promise<Ruleset>;
  /** What the agent definition of that name says. @defaultValue nothing */
  readonly agent?: (name: string, cwd: string) => AgentPermission | null | Promise<AgentPermission | null>;
  /** Directories outside the workspace that a session may read like it: what its engine has put there. @defaultValue none */
  readonly readable?: (sessionId: string) => readonly string[];
  /** Directories that no tool may touch, but for what is `readable` below them: what the program keeps of all sessions. @defaultValue none */
  readonly hidden?: readonly string[];
  /** @defaultValue answers are not kept */
  readonly remembered?: Remembered;
  /** @defaultValue decisions are not written down */
  readonly audit?: Audit;
  /** @defaultValue none: a rule on commands that is not a plain prefix asks */
  readonly classify?: Classify;
}

export function createPolicy(options: PolicyOptions = {}): Policy {
  return {
    decide: async (call, place) => {
      const roots = rootsOf(place);
      const [rules, projectRules, agent, remembered] = await Promise.all([
        typeof options.rules === "function" ? options.rules() : (options.rules ?? NO_RULES),
        options.projectRules?.(place.workspace.cwd) ?? NO_RULES,
        options.agent?.(place.settings.agent, place.workspace.cwd) ?? null,
        options.remembered?.recall(roots[0], call) ?? null,
      ]);
      // What came with the project may forbid here, but not allow.
      const foreign = [...projectRules.rules, ...(agent?.trusted ? [] : (agent?.rules ?? []))];
      const own = [...rules.rules, ...(agent?.trusted ? agent.rules : [])];
      const narrowing = foreign.filter(({ action }) => action !== "allow");
      const classified = await classifyCall(call, roots, [...own, ...narrowing], options.classify);
      const readable = (options.readable?.(place.sessionId) ?? []).map(real);
      const hidden = (options.hidden ?? []).map(real);
      const { settings } = place;
      return decide(call, { settings, roots, readable, hidden, rules, projectRules, agent, remembered, classified });
    },
    remember: async (call, answer, place) => {
      await options.remembered?.remember(rootsOf(place)[0], call, answer);
    },
    audit: async (entry) => {
      await options.audit?.append(entry);
    },
  };
}

// --- internal ---

function rootsOf({ workspace }: CallPlace): [string, ...string[]] {
  return [real(workspace.cwd), ...workspace.directories.map(real)];
}

function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

async function classifyCall(
  call: PolicyCall,
  [cwd, ...directories]: readonly [string, ...string[]],
  rules: readonly Rule[],
  classify: Classify | undefined,
): Promise<Classified | null> {
  const { command, reads } = call.touches;
  if (command === undefined || !classify) return null;
  const meter = createMeter();
  const onCommands = rules.filter((rule) => isCommandRule(rule, call) && isAbout(rule, call, meter));
  return classify(command, {
    cwd: reads[0] ?? cwd,
    workspace: { cwd, directories },
    rules: onCommands.map(({ argPattern = "*", action }) => ({ pattern: argPattern, action })),
  });
}
