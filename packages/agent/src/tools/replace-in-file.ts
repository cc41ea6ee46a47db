/** replace_in_file: every match of a regular expression in one file. */
import * as v from "valibot";
import { replaceEvery } from "./bounded-regex.js";
import { defineTool, describeFile, failure, locate } from "./define.js";
import { publishEdit } from "./publish-edit.js";

export const replaceInFileTool = defineTool({
  name: "replace_in_file",
  description: "Replace every match of a JavaScript regular expression in a text file; $1 and $<name> insert groups.",
  input: v.object({
    path: v.pipe(v.string(), v.description("The file, relative to the workspace or absolute.")),
    pattern: v.pipe(v.string(), v.description("The regular expression, without slashes.")),
    replacement: v.string(),
    flags: v.optional(v.pipe(v.string(), v.regex(/^[imsu]*$/), v.description("Any of i, m, s, u.")), ""),
  }),
  kind: "edit",
  parallel: false,
  describe: (input, workspace) => describeFile("Replace in", input.path, workspace, "writes"),
  run: async (input, context) => {
    const file = locate(input.path, context, "writes");
    const before = await context.workspace.readText(file.path);
    const { count, text } = await replaceEvery(before, input.pattern, input.flags, input.replacement, context.signal);
    if (count === 0) return failure(`Nothing in ${file.shown} matches ${input.pattern}.`);
    const content = await publishEdit(file, before, text, context);
    return {
      success: true,
      output: `Replaced ${count} ${count === 1 ? "match" : "matches"} in ${file.shown}.`,
      content,
    };
  },
});
