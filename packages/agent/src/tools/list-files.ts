/** list_files: the files of a directory and everything below, as git would see them. */
import { lstat } from "node:fs/promises";
import * as v from "valibot";
import { compileGlob } from "../policy/glob.js";
import { defineTool, describeFile, failure, locate } from "./define.js";
import { walk } from "./walk.js";

const MAX_FILES = 1000;
/** What one path may cost: a pattern that takes longer does not match it. */
const MAX_STEPS = 200_000;

export const listFilesTool = defineTool({
  name: "list_files",
  aliases: ["Glob", "LS"],
  description:
    "List the files of a directory and of all directories below it, one path a line. What .gitignore leaves out is left " +
    `out; at most ${MAX_FILES} paths.`,
  input: v.object({
    path: v.optional(v.pipe(v.string(), v.description("The directory; the workspace when left out.")), "."),
    glob: v.optional(v.pipe(v.string(), v.description("Only paths like this: *.ts, src/**/*.test.ts, {a,b}/*.md."))),
  }),
  kind: "search",
  parallel: true,
  describe: (input, workspace) => describeFile("List", input.path, workspace, "reads"),
  run: async (input, context) => {
    const directory = locate(input.path, context, "reads");
    if (!(await lstat(directory.path)).isDirectory()) return failure(`${directory.shown} is not a directory.`);
    const wanted = fileFilter(input.glob);
    const prefix = directory.shown === "." ? "" : `${directory.shown}/`;
    const found: string[] = [];
    let more = false;
    for await (const path of walk(directory.path, context.signal)) {
      if (!wanted(path)) continue;
      more = found.length === MAX_FILES;
      if (more) break;
      found.push(prefix + path);
    }
    if (found.length === 0) return { success: true, output: "No files." };
    const notice = more ? `\n[more than ${MAX_FILES} files: narrow it with path or glob]` : "";
    return { success: true, output: found.join("\n") + notice };
  },
});

/** A pattern without a slash is about the name of the file, wherever it is. */
export function fileFilter(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const matches = compileGlob(glob.includes("/") ? glob.replace(/^\.?\//, "") : `**/${glob}`, "path");
  return (path) => matches(path, { left: MAX_STEPS }) === true;
}
