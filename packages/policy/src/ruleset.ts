/**
 * `permissions.json`: a list of rules, of which the last match wins; of rules on commands the strictest, because a line may hold several
 * commands. A project's rules can only restrict.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "@chimera/acp-schema/lenient";
import { type Action, actionOf, type Rule } from "@chimera/acp-schema/policy";

export interface Ruleset {
  readonly rules: readonly Rule[];
  /** The action if no rule matches. @defaultValue reading is allowed, everything else asks */
  readonly default?: Action;
  /** One sentence for each rule that is not usable. The other rules apply. */
  readonly problems: readonly string[];
}

export const NO_RULES: Ruleset = { rules: [], problems: [] };

/** Most rules in a file. A longer file is a mistake. */
const MAX_RULES = 1000;

/**
 * Returns no rules for a missing file, and no rules with a problem for an unusable one.
 *
 * @example
 * const policy = createPolicy({ rules: await loadRuleset(join(home, "permissions.json")) });
 */
export async function loadRuleset(file: string): Promise<Ruleset> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return NO_RULES;
    return { rules: [], problems: [`${file}: ${(error as Error).message}`] };
  }
  return parseRuleset(text, file);
}

/**
 * The rules in a text, and what is wrong with those that it leaves out. `source` names the text.
 *
 * @example
 * const rules = parseRuleset('{"rules":[{"tool":"Bash","action":"ask"}]}', "mine");
 */
export function parseRuleset(text: string, source: string): Ruleset {
  const problems: string[] = [];
  const document = parseObject(text);
  if (typeof document === "string") return { rules: [], problems: [`${source}: ${document}`] };
  const standard = document["default"] === undefined ? undefined : actionOf(document["default"]);
  if (document["default"] !== undefined && !standard)
    problems.push(`${source}: default ${unknownAction(document["default"])}`);
  const listed: unknown = document["rules"] ?? [];
  if (!Array.isArray(listed)) problems.push(`${source}: rules is not a list`);
  const entries: unknown[] = Array.isArray(listed) ? listed : [];
  if (entries.length > MAX_RULES) problems.push(`${source}: only the first ${MAX_RULES} rules are read`);
  const rules = entries.slice(0, MAX_RULES).flatMap((entry, index) => {
    const rule = parseRule(entry, `${source} rule ${index}`);
    if (typeof rule !== "string") return [rule];
    problems.push(`${source}: rule ${index} ${rule}`);
    return [];
  });
  return { rules, problems, ...(standard && { default: standard }) };
}

/** Paths below the project. */
export const PROJECT_RULE_FILES = [join(".opencode", "permissions.json"), join(".chimera", "permissions.json")];

/**
 * `read` must return the text of a file below the project, or null, and follow no link out of the project.
 *
 * @example
 * const rules = await loadProjectRules(cwd, readTextBeneath);
 */
export async function loadProjectRules(
  cwd: string,
  read: (root: string, path: string) => Promise<string | null>,
): Promise<Ruleset> {
  const found = await Promise.all(
    PROJECT_RULE_FILES.map(async (path) => {
      const text = await read(cwd, path);
      return text === null ? null : parseRuleset(text, path);
    }),
  );
  const sets = found.filter((set) => set !== null);
  return { rules: sets.flatMap(({ rules }) => rules), problems: sets.flatMap(({ problems }) => problems) };
}

// --- internal ---

function parseObject(text: string): Record<string, unknown> | string {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : "not a JSON object";
  } catch (error) {
    return `not valid JSON (${(error as Error).message})`;
  }
}

function parseRule(entry: unknown, source: string): Rule | string {
  if (!isJsonObject(entry)) return "is not an object";
  const { tool, action, arg_key: argKey, arg_pattern: argPattern, description } = entry;
  if (typeof tool !== "string" || tool === "") return "has no tool";
  const meant = actionOf(action);
  if (!meant) return unknownAction(action);
  // Reject a rule with an invalid condition, because without the condition it would apply to more calls.
  if (argKey !== undefined && argKey !== null && typeof argKey !== "string") return "has an arg_key that is not text";
  if (argPattern !== undefined && argPattern !== null && typeof argPattern !== "string")
    return "has an arg_pattern that is not text";
  if (typeof argPattern === "string" && typeof argKey !== "string") return "has an arg_pattern without arg_key";
  return {
    tool,
    action: meant,
    source,
    ...(typeof argKey === "string" && { argKey }),
    ...(typeof argPattern === "string" && { argPattern }),
    ...(typeof description === "string" && { description }),
  };
}

function unknownAction(action: unknown): string {
  // Show only a word, because a nested list may be too deep to print.
  const shown = typeof action === "string" ? JSON.stringify(action) : action === undefined ? "(none)" : "(not a word)";
  return `has the unknown action ${shown}: allow, deny or ask`;
}
