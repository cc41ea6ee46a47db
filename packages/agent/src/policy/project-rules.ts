/** Permission rules that come with a project: they can narrow, never widen. */
import { join } from "node:path";
import { readTextBeneath } from "../files/project-file.js";
import { parseRuleset, type Ruleset } from "./ruleset.js";

/** Below the project. */
export const PROJECT_RULE_FILES = [join(".opencode", "permissions.json"), join(".chimera", "permissions.json")];

export async function loadProjectRules(cwd: string): Promise<Ruleset> {
  const found = await Promise.all(
    PROJECT_RULE_FILES.map(async (path) => {
      const text = await readTextBeneath(cwd, path);
      return text === null ? null : parseRuleset(text, path);
    }),
  );
  const sets = found.filter((set) => set !== null);
  return { rules: sets.flatMap(({ rules }) => rules), problems: sets.flatMap(({ problems }) => problems) };
}
