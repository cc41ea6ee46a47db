/** search: finds matching lines in files, with ripgrep if it is installed, or else with our own walk. */
import { join } from "node:path";
import { startOf } from "@chimera/acp-schema/text";
import { isSecret } from "@chimera/sandbox/secrets";
import * as v from "valibot";
import type { Tool } from "../tool.js";
import { defineTool, describeFile, locate, MAX_OUTPUT } from "./define.js";
import type { Match, SearchRequest } from "./search-files.js";

export interface SearchOptions {
  /** Whether to use ripgrep if it is installed. @defaultValue true */
  readonly ripgrep?: boolean;
}

const MAX_LINE = 500;
/** Characters reserved for the notices. */
const MARGIN = 200;

const input = v.object({
  pattern: v.pipe(v.string(), v.nonEmpty(), v.description("The regular expression.")),
  path: v.optional(v.pipe(v.string(), v.description("A directory or a file; the workspace when left out.")), "."),
  glob: v.optional(v.pipe(v.string(), v.description("Only files like this: *.ts, src/**/*.md."))),
  ignore_case: v.optional(v.boolean(), false),
});
type SearchInput = v.InferOutput<typeof input>;

/**
 * The tool that searches files: by ripgrep where it is installed, otherwise by Node alone.
 *
 * @example
 * const search = createSearchTool({ ripgrep: false });
 */
export function createSearchTool({ ripgrep = true }: SearchOptions = {}): Tool<SearchInput> {
  return defineTool({
    name: "search",
    aliases: ["Grep", "rg"],
    description:
      "Search the files of the workspace for a regular expression; the result is path:line:text. What .gitignore leaves out, " +
      "binary files and files that may hold secrets are not searched.",
    input,
    kind: "search",
    parallel: true,
    describe: (input, workspace) => {
      const described = describeFile("Search", input.path, workspace, "reads");
      return { ...described, title: `Search ${JSON.stringify(startOf(input.pattern, 80))}` };
    },
    run: async ({ pattern, path, glob, ignore_case: ignoreCase }, context) => {
      const { path: root, shown } = locate(path, context, "reads");
      const passedOver = { files: 0 };
      // If the root itself is secret, the policy has already allowed all of it.
      const isWanted = isSecret(root, shown);
      const secret = (path: string) => !isWanted && isSecret(join(root, path), path);
      const request = { pattern, glob, ignoreCase, root, isSecret: secret, passedOver, signal: context.signal };
      const output = await firstLines(await search(request, ripgrep), shown);
      const notice = `\n[not searched: ${passedOver.files} files that may hold secrets; give one as path to ask for it]`;
      return { success: true, output: passedOver.files === 0 ? output : output + notice };
    },
  });
}

// --- internal ---

async function search(request: SearchRequest, ripgrep: boolean): Promise<AsyncGenerator<Match>> {
  const { searchByWalking, searchWithRipgrep } = await import("./search-files.js");
  if (ripgrep) {
    const { ripgrepPath } = await import("./ripgrep-path.js");
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
