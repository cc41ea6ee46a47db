/** The policy port: who may call what. The loop asks it about every call and does as it says. */
import type { TurnSettings, Workspace } from "@chimera/acp-schema/agent";
import type { Decision, ResolvedBy, Risk } from "@chimera/acp-schema/events";
import type { Tool, Touches } from "./tool.js";

export interface Policy {
  decide(call: PolicyCall, context: PolicyContext): PolicyDecision | Promise<PolicyDecision>;
  /** Keeps an answer for the same tool with the same arguments in this workspace. */
  remember(call: PolicyCall, answer: "always" | "never", context: PolicyContext): Promise<void>;
  /** Told of every decision, however it was reached. */
  audit(entry: AuditEntry): Promise<void>;
}

export interface PolicyCall {
  readonly tool: Pick<Tool, "name" | "aliases" | "kind">;
  readonly args: Readonly<Record<string, unknown>>;
  readonly touches: Touches;
}

export interface PolicyContext {
  readonly settings: TurnSettings;
  readonly workspace: Workspace;
}

export interface PolicyDecision {
  readonly decision: "allow" | "deny" | "ask";
  /** The rule that settled it, in words a person can find again; null when a default did. */
  readonly rule: string | null;
  readonly why: string;
  readonly risk: Risk;
  /** Set when a sandbox and not a rule stands in the way; the log then says so. */
  readonly violation?: { readonly mode: string; readonly path?: string; readonly command?: string };
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
  /** `unasked`: an engine ran it without a question. */
  readonly by: ResolvedBy | "unasked";
  readonly rule: string | null;
  readonly why: string;
}
