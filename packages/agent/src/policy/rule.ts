/** A permission rule and whether it speaks about a call. */
import { relative } from "node:path";
import type { ToolKind } from "@chimera/acp-schema/events";
import { isBeneath } from "../files/real-path.js";
import type { PolicyCall } from "../policy-port.js";
import { namesOf } from "../tool.js";
import { compileGlob, type Meter } from "./glob.js";

export type Action = "allow" | "deny" | "ask";

export interface Rule {
  /** A glob over the names of tools, in any case; aliases count. */
  readonly tool: string;
  readonly action: Action;
  /** Only calls with this argument. */
  readonly argKey?: string;
  /** A glob over that argument. */
  readonly argPattern?: string;
  /** Only tools of these kinds. */
  readonly kinds?: readonly ToolKind[];
  readonly description?: string;
  /** Where it stands, in words a person can find again: `permissions.json rule 3`. */
  readonly source: string;
}

/** Whether the rule is about this tool at all. */
export function isAbout(rule: Rule, { tool }: PolicyCall, meter?: Meter): boolean {
  if (rule.kinds && !rule.kinds.includes(tool.kind)) return false;
  return anyMatches(rule, rule.tool.toLowerCase(), namesOf(tool), meter);
}

/** Whether the rule names the command line as its argument. */
export function isCommandRule(rule: Rule, { touches }: PolicyCall): boolean {
  return touches.command !== undefined && rule.argKey !== undefined && COMMAND_KEYS.has(rule.argKey);
}

/** Whether the rule names particular files. */
export function isPathRule(rule: Rule): boolean {
  return rule.argPattern !== undefined && rule.argKey !== undefined && PATH_KEYS.has(rule.argKey);
}

/**
 * Whether the rule's argument fits. A path has many spellings: what forbids matches any of them, what allows must match the
 * real one.
 */
export function fitsArgument(rule: Rule, call: PolicyCall, cwd: string, meter?: Meter): boolean {
  if (rule.argKey === undefined) return true;
  const values = PATH_KEYS.has(rule.argKey) ? pathForms(rule, call, cwd) : plainForms(rule.argKey, call.args);
  if (rule.argPattern === undefined) return values.length > 0;
  return anyMatches(rule, rule.argPattern, values, meter);
}

/** Whether a pattern of the rule matches one of the texts. What is too much to try counts against the call, whatever the rule. */
export function anyMatches(rule: Rule, pattern: string, texts: readonly string[], meter?: Meter): boolean {
  const matches = compileGlob(pattern, "rule", meter);
  return texts.some((text) => matches(text, meter) ?? rule.action !== "allow");
}

// --- internal ---

const PATH_KEYS = new Set(["path", "file", "file_path", "filepath", "filename"]);
const COMMAND_KEYS = new Set(["command", "cmd"]);

function plainForms(key: string, args: PolicyCall["args"]): string[] {
  const value = Object.hasOwn(args, key) ? args[key] : undefined;
  if (value === undefined || value === null) return [];
  return [typeof value === "object" ? JSON.stringify(value) : String(value)];
}

function pathForms(rule: Rule, { args, touches }: PolicyCall, cwd: string): string[] {
  const real = [...new Set([...touches.reads, ...touches.writes])];
  const forms = real.flatMap((path) => (isBeneath(path, cwd) ? [path, relative(cwd, path)] : [path]));
  if (rule.action === "allow") return forms;
  return [...forms, ...[...PATH_KEYS].flatMap((key) => plainForms(key, args))];
}
