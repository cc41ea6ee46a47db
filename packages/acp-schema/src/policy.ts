/** `@chimera/acp-schema/policy`, the policy port: who may call what. A session asks it about every call of every engine before it asks a person. */
import type { Touches, TurnSettings, Workspace } from "./agent.js";
import type { Decision, ResolvedBy, Risk, ToolKind } from "./events/value.js";

export interface Policy {
  decide(call: PolicyCall, place: CallPlace): PolicyDecision | Promise<PolicyDecision>;
  /** Keeps an answer in this workspace: for the same tool with the same arguments, or for commands that begin alike. */
  remember(call: PolicyCall, answer: "always" | "never", place: CallPlace, scope?: "call" | "prefix"): Promise<void>;
  /** Called with every decision, however it was reached. A call whose entry cannot be kept does not run. */
  audit(entry: AuditEntry): Promise<void>;
}

/** A call as its engine describes it. */
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
  /** The rule that settled it, in words a person can find again; null when a default did. */
  readonly rule: string | null;
  readonly why: string;
  readonly risk: Risk;
  /** What a person may allow beyond this call, where it is asked for, named as what it is. */
  readonly wider?: readonly Wider[];
  /** Set when a sandbox and not a rule stands in the way; the log then says so. */
  readonly violation?: { readonly mode: string; readonly path?: string; readonly command?: string };
}

/** `prefix`: commands that begin alike, in this workspace. `edits`: edits in this workspace, for this session. */
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
  /** What a person said, `always` and `never` included; null when nobody was asked. */
  readonly answer: Decision | null;
  /** The person who answered, where it was one with a name. */
  readonly person?: string;
  /** `unasked`: an engine ran it without a question. */
  readonly by: ResolvedBy | "unasked";
  readonly rule: string | null;
  readonly why: string;
}

export type Action = "allow" | "deny" | "ask";

export interface Rule {
  /** A glob over the names of tools, in any case; aliases count. */
  readonly tool: string;
  readonly action: Action;
  /** Only calls with this argument. */
  readonly argKey?: string;
  /** A glob over that argument. */
  readonly argPattern?: string;
  readonly kinds?: readonly ToolKind[];
  readonly description?: string;
  /** Where it stands, in words a person can find again: `permissions.json rule 3`. */
  readonly source: string;
}

/** What an agent definition says about permissions. */
export interface AgentPermission {
  readonly name: string;
  readonly permission: "interactive" | "auto_approve" | "always_deny" | "read_only";
  readonly rules: readonly Rule[];
  /** False for a definition that came with the project: it may only narrow. */
  readonly trusted: boolean;
}

/** The action a word means, aliases included. */
export function actionOf(word: unknown): Action | undefined {
  if (typeof word !== "string") return undefined;
  const key = word.toLowerCase();
  return Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : undefined;
}

/** Where remembered answers are kept: lines for each workspace, which are only added. */
export interface AnswerLines {
  add(workspace: string, line: string): Promise<void>;
  /** Changes whenever a line is added; empty when there is none. */
  mark(workspace: string): Promise<string>;
  /** All lines, in the order in which they were added. */
  read(workspace: string): Promise<string>;
  /** Every workspace that has lines. */
  workspaces(): Promise<readonly string[]>;
}

/** The last line of a chain of decisions, which the next one follows. */
export interface ChainHead {
  readonly n: number;
  readonly hash: string;
}

/** The chain that a process adds its decisions to. Where it is kept, nobody looks into its lines. */
export interface AuditChain {
  /** Null: it has no line. */
  head(): Promise<ChainHead | null>;
  /** Adds a line, and resolves when it is written. False: the chain has another head by now, and nothing was added. */
  extend(after: ChainHead, line: string, head: ChainHead): Promise<boolean>;
  close(): Promise<void>;
}

/** A chain as it is read back. */
export interface StoredChain {
  /** That of a file, which no other chain has. */
  readonly name: string;
  readonly head: ChainHead | null;
  /** Oldest first. */
  lines(): AsyncIterable<string>;
}

/** All chains that are kept in a place. */
export interface AuditChains {
  all(): Promise<readonly StoredChain[]>;
  /** Completes the chain of this name, which is missing or has the first of these lines. */
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
