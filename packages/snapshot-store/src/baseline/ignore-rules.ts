/** Which paths of a workspace are not sources: git's ignore files, read as git reads them. */
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import ignore, { type Ignore } from "ignore";
import { isDraft, STAGE_PREFIX } from "../workspace/drafts.js";
import { fsPath } from "../workspace/path-bytes.js";

/** The rules in force in one directory: its own, then those of the directories above. */
export interface IgnoreRules {
  ignores(path: string, isDirectory: boolean): boolean;
  /** How many steps the rules of directories below may still cost. @defaultValue the whole limit */
  readonly stepsLeft?: number;
}

/** Never watched, whatever ignore files say: version control's own data, and trees that package managers rebuild. */
const ALWAYS_IGNORED: ReadonlySet<string> = new Set([".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"]);
const MAX_RULES_BYTES = 1024 * 1024;
/**
 * Bounds on rules. A rule is tried at every depth for every `**` and at every character for every `*`, and every rule on
 * every path, so a hostile file could keep a scan busy for days. A rule beyond these bounds is not applied.
 */
const MAX_LINES = 20_000;
const MAX_RULES = 2000;
const MAX_GLOBSTARS = 2;
const MAX_DEPTH = 64;
/** Steps that all rules in force may take together on one path: some tens of milliseconds. */
const MAX_STEPS = 3_000_000;
const LONGEST_NAME = 255;

export function isAlwaysIgnored(name: string): boolean {
  return ALWAYS_IGNORED.has(name) || name.startsWith(STAGE_PREFIX) || isDraft(name);
}

/**
 * The text of a directory's `.gitignore`; empty when there is none. A link is not followed, as in git.
 *
 * @example
 * const rules = rulesBelow(above, directory, readIgnoreFile(join(directory, ".gitignore")));
 */
export function readIgnoreFile(path: string): string {
  let fd: number | null = null;
  try {
    fd = openSync(fsPath(path), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    const stat = fstatSync(fd);
    return stat.isFile() && stat.size <= MAX_RULES_BYTES ? readFileSync(fd, "utf8") : "";
  } catch {
    return "";
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/**
 * The rules of a directory with this ignore text; without text it shares its parent's.
 *
 * @example
 * rulesBelow(above, "/work", "dist/\n").ignores("/work/dist", true); // true
 */
export function rulesBelow(parent: IgnoreRules, directory: string, text: string): IgnoreRules {
  if (text.trim() === "") return parent;
  const { own, stepsLeft } = matcher(text, parent.stepsLeft ?? MAX_STEPS);
  const start = directory === "/" ? 1 : directory.length + 1;
  return {
    stepsLeft,
    ignores(path, isDirectory) {
      const relative = path.slice(start);
      if (relative.split("/").length > MAX_DEPTH) return parent.ignores(path, isDirectory);
      const verdict = own.test(isDirectory ? `${relative}/` : relative);
      return verdict.ignored || (!verdict.unignored && parent.ignores(path, isDirectory));
    },
  };
}

/** The rules from above a root: those of the repository around it, if there is one. */
export function rulesAbove(root: string): IgnoreRules {
  const chain: string[] = [];
  let directory = root;
  while (!existsSync(`${directory}/.git`)) {
    const parent = dirname(directory);
    if (parent === directory) return NO_RULES;
    directory = parent;
    chain.unshift(directory);
  }
  const top = chain[0] ?? root;
  let rules = rulesBelow(NO_RULES, top, readIgnoreFile(`${top}/.git/info/exclude`));
  for (const each of chain) rules = rulesBelow(rules, each, readIgnoreFile(`${each}/.gitignore`));
  return rules;
}

// --- internal ---

const NO_RULES: IgnoreRules = { ignores: (path) => isAlwaysIgnored(basename(path)) };

function matcher(text: string, steps: number): { own: Ignore; stepsLeft: number } {
  let stepsLeft = steps;
  const rules = text
    .split("\n", MAX_LINES)
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .slice(0, MAX_RULES)
    .filter((line) => line.split("**").length - 1 <= MAX_GLOBSTARS)
    .filter((line) => {
      const cost = costOf(line);
      if (cost > stepsLeft) return false;
      stepsLeft -= cost;
      return true;
    });
  const own = ignore({ allowRelativePaths: true, ignorecase: process.platform !== "linux" }).add(rules);
  return { own, stepsLeft };
}

/** The steps on the worst path: each star in a name is tried at every end of the one before, each `**` at every depth. */
function costOf(rule: string): number {
  const names = rule.split("/").map((name) => name.replaceAll("**", "*").split("*").length - 1);
  return tries(LONGEST_NAME, Math.max(...names)) * tries(MAX_DEPTH, rule.split("**").length - 1);
}

function tries(places: number, stars: number): number {
  return Array.from({ length: stars }, (_, at) => places / (at + 1)).reduce((cost, each) => cost * each, 1);
}
