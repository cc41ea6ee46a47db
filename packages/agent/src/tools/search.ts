/** search: which lines of which files match; ripgrep where it is installed, a walk of our own where it is not. */
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import type { Tool } from "../tool.js";
import { defineTool, describeFile, locate, MAX_OUTPUT } from "./define.js";
import type { Match, SearchRequest } from "./search-files.js";

export interface SearchOptions {
  /** @defaultValue true: used where it is installed */
  readonly ripgrep?: boolean;
}

const MAX_LINE = 500;
/** Room for the notice. */
const MARGIN = 100;

const input = v.object({
  pattern: v.pipe(v.string(), v.nonEmpty(), v.description("The regular expression.")),
  path: v.optional(v.pipe(v.string(), v.description("A directory or a file; the workspace when left out.")), "."),
  glob: v.optional(v.pipe(v.string(), v.description("Only files like this: *.ts, src/**/*.md."))),
  ignore_case: v.optional(v.boolean(), false),
});
type SearchInput = v.InferOutput<typeof input>;

export function createSearchTool({ ripgrep = true }: SearchOptions = {}): Tool<SearchInput> {
  return defineTool({
    name: "search",
    aliases: ["Grep", "rg"],
    description:
      "Search the files of the workspace for a regular expression; the result is path:line:text. What .gitignore leaves out " +
      "and binary files are not searched.",
    input,
    kind: "search",
    parallel: true,
    describe: (input, workspace) => {
      const described = describeFile("Search", input.path, workspace, "reads");
      return { ...described, title: `Search ${JSON.stringify(startOf(input.pattern, 80))}` };
    },
    run: async ({ pattern, path, glob, ignore_case: ignoreCase }, context) => {
      const { path: root, shown } = locate(path, context, "reads");
      const request = { pattern, glob, ignoreCase, root, signal: context.signal };
      return { success: true, output: await firstLines(await search(request, ripgrep), shown) };
    },
  });
}

// --- internal ---

async function search(request: SearchRequest, ripgrep: boolean): Promise<AsyncGenerator<Match>> {
  const { ripgrepPath, searchByWalking, searchWithRipgrep } = await import("./search-files.js");
  if (ripgrep) {
    const binary = await ripgrepPath();
    if (binary !== null) return searchWithRipgrep(binary, request);
  }
  return searchByWalking(request);
}

async function firstLines(matches: AsyncGenerator<Match>, shown: string): Promise<string> {
  const lines: string[] = [];
  let size = 0;
  for await (const { path, line, text } of matches) {
    const place = [shown === "." ? "" : shown, path].filter((part) => part !== "").join("/");
    const entry = `${place}:${line}:${text.length > MAX_LINE ? `${startOf(text, MAX_LINE)} […]` : text}`;
    size += entry.length + 1;
    if (size > MAX_OUTPUT - MARGIN) return `${lines.join("\n")}\n[more matches: narrow it with path or glob]`;
    lines.push(entry);
  }
  return lines.length === 0 ? "No matches." : lines.join("\n");
}
