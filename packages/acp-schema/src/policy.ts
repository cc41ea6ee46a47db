/** `@chimera/acp-schema/policy`, the policy port: decides which calls may run. A session asks it about each call first. */
import type { Touches, TurnSettings, Workspace } from "./agent.js";
import type { Decision, ResolvedBy, Risk, ToolKind } from "./events/value.js";

export interface Policy {
  decide(call: PolicyCall, place: CallPlace): PolicyDecision | Promise<PolicyDecision>;
  /** Remembers an answer in this workspace, for the same tool with the same arguments or for commands that begin alike. */
  remember(call: PolicyCall, answer: "always" | "never", place: CallPlace, scope?: "call" | "prefix"): Promise<void>;
  /** Called with every decision, by any path. If the entry cannot be stored, the call does not run. */
  audit(entry: AuditEntry): Promise<void>;
}

/** An engine's description of a call. */
export interface PolicyCall {
  readonly tool: { readonly name: string; readonly aliases: readonly string[]; readonly kind: ToolKind };
  readonly args: Readonly<Record<string, unknown>>;
  readonly touches: Touches;
}

export interface CallPlace {
  readonly sessionId: string;
  readonly turn: number;
  readonly settings: TurnSettings;
  readonly workspace: Pick<Workspace, "cwd" | "directories">;
}

export interface PolicyDecision {
  readonly decision: Action;
  /** The rule that decided, in words that a person can search for; null for a default. */
  readonly rule: string | null;
  readonly why: string;
  readonly risk: Risk;
  /** Wider permissions that a person may give instead of this one call. */
  readonly wider?: readonly Wider[];
  /** Set if a sandbox and not a rule forbids the call, which is then recorded. */
  readonly violation?: { readonly mode: string; readonly path?: string; readonly command?: string };
}

/** `prefix` allows commands that begin alike in this workspace. `edits` allows edits in this workspace for this session. */
export interface Wider {
  readonly scope: "prefix" | "edits";
  readonly name: string;
}

export interface AuditEntry {
  readonly sessionId: string;
  readonly turn: number;
  readonly callId: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly decision: "allow" | "deny";
  /** The person's answer, which may be `always` or `never`; null if no person was asked. */
  readonly answer: Decision | null;
  /** The name of the person who answered, if they have one. */
  readonly person?: string;
  /** `unasked` means that an engine ran the call without asking. */
  readonly by: ResolvedBy | "unasked";
  readonly rule: string | null;
  readonly why: string;
}

export type Action = "allow" | "deny" | "ask";

export interface Rule {
  /** A glob for the tool's name or its aliases, in any case. */
  readonly tool: string;
  readonly action: Action;
  /** Limits the rule to calls with this argument. */
  readonly argKey?: string;
  /** A glob for that argument. */
  readonly argPattern?: string;
  readonly kinds?: readonly ToolKind[];
  readonly description?: string;
  /** The place of the rule, in words that a person can search for: `permissions.json rule 3`. */
  readonly source: string;
}

/** The permissions of an agent definition. */
export interface AgentPermission {
  readonly name: string;
  readonly permission: "interactive" | "auto_approve" | "always_deny" | "read_only";
  readonly rules: readonly Rule[];
  /** False for a definition from the project, which may only forbid more. */
  readonly trusted: boolean;
}

/**
 * The action that a word or an alias means.
 *
 * @example
 * actionOf("allow"); // "allow"
 * actionOf("perhaps"); // undefined
 */
export function actionOf(word: unknown): Action | undefined {
  if (typeof word !== "string") return undefined;
  const key = word.toLowerCase();
  return Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : undefined;
}

/** Stores remembered answers as lines for each workspace. Lines are only added. */
export interface AnswerLines {
  add(workspace: string, line: string): Promise<void>;
  /** A mark that changes with each added line; empty without lines. */
  mark(workspace: string): Promise<string>;
  /** All lines, in the order they were added. */
  read(workspace: string): Promise<string>;
  /** All workspaces that have lines. */
  workspaces(): Promise<readonly string[]>;
}

/** The number and hash of the last line of a chain of decisions, to which the next line refers. */
export interface ChainHead {
  readonly n: number;
  readonly hash: string;
}

/** The chain that a process adds its decisions to. Its storage does not read the lines. */
export interface AuditChain {
  /** The last line; null for an empty chain. */
  head(): Promise<ChainHead | null>;
  /** Adds a line and resolves when it is written. Resolves with false, and adds nothing, if the chain has another head by now. */
  extend(after: ChainHead, line: string, head: ChainHead): Promise<boolean>;
  close(): Promise<void>;
}

/** A chain that is read back. */
export interface StoredChain {
  /** The name of a file, unique among the chains. */
  readonly name: string;
  readonly head: ChainHead | null;
  /** The lines, oldest first. */
  lines(): AsyncIterable<string>;
}

/** All chains in one storage. */
export interface AuditChains {
  all(): Promise<readonly StoredChain[]>;
  /** Completes the stored chain of this name, which is missing or has the first of these lines. */
  put(chain: StoredChain): Promise<void>;
}

// --- internal ---

const ACTIONS: Readonly<Record<string, Action>> = {
  allow: "allow",
  permit: "allow",
  deny: "deny",
  block: "deny",
  ask: "ask",
  prompt: "ask",
  confirm: "ask",
};
