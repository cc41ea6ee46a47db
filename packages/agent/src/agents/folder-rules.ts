/** Tools whose results bring the instructions of the folders they touch: a model reads the rules of a place when it gets there. */
import { realpathSync } from "node:fs";
import type { Turn } from "@chimera/acp-schema/agent";
import { startOf } from "@chimera/acp-schema/text";
import type { Tool, ToolContext, ToolOutcome } from "../tool.js";
import { type Found, instructionText, loadInstructionsBelow, sourceMark } from "./instructions.js";

/** Each file's instructions come once in a conversation; in a later turn again, when a summary has taken the place of their result. */
export function withFolderRules(tools: readonly Tool[], { history }: Pick<Turn, "history">, cwd: string): Tool[] {
  // The paths that a call may touch are real ones.
  const root = realpathSync.native(cwd);
  const given = new Set<string>();
  const isNew = ({ source }: Found): boolean => {
    if (given.has(source)) return false;
    given.add(source);
    const mark = sourceMark(source);
    return !history.some((message) => message.role === "tool" && message.output.includes(mark));
  };
  const rulesFor = async ({ permitted }: ToolContext): Promise<readonly Found[]> => {
    const paths = [...new Set([...(permitted?.reads ?? []), ...(permitted?.writes ?? [])])].slice(0, MOST_PATHS);
    const found = await Promise.all(paths.map((path) => loadInstructionsBelow(root, path)));
    return found.flat().filter(isNew);
  };
  return tools.map((tool) => ({
    ...tool,
    run: async (input, context) => {
      const outcome = await tool.run(input, context);
      return outcome.success ? withRules(outcome, await rulesFor(context)) : outcome;
    },
  }));
}

// --- internal ---

const MOST_PATHS = 8;
const LONGEST = 16 * 1024;

function withRules(outcome: ToolOutcome, found: readonly Found[]): ToolOutcome {
  if (found.length === 0) return outcome;
  const rules = found.map((each) => startOf(instructionText(each), LONGEST)).join("\n\n");
  return { ...outcome, output: `${outcome.output}\n\n[Project rules for the files of this folder:]\n${rules}` };
}
