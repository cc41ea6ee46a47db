/** Write: a whole file, new or replaced. */
import type { Workspace } from "@chimera/acp-schema/agent";
import * as v from "valibot";
import { isAgentError } from "../errors.js";
import { defineTool, describeFile, locate } from "./define.js";
import { publishEdit } from "./publish-edit.js";

export const writeTool = defineTool({
  name: "Write",
  aliases: ["write_file"],
  description: "Write a text file, replacing what is there; directories are made as needed.",
  input: v.object({
    path: v.pipe(v.string(), v.description("The file, relative to the workspace or absolute.")),
    content: v.pipe(v.string(), v.description("The complete new content.")),
  }),
  kind: "edit",
  parallel: false,
  describe: (input, workspace) => describeFile("Write", input.path, workspace, "writes"),
  run: async (input, context) => {
    const file = locate(input.path, context, "writes");
    const before = await currentText(file.path, context.workspace);
    const content = await publishEdit(file, before, input.content, context);
    const verb = before === null ? "Created" : "Replaced";
    return { success: true, output: `${verb} ${file.shown} (${Buffer.byteLength(input.content)} bytes).`, content };
  },
});

// --- internal ---

/** Null when there is none; a binary or oversized file may be replaced, but has no text to compare with. */
async function currentText(path: string, workspace: Workspace): Promise<string | null> {
  try {
    return await workspace.readText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (isAgentError(error) && (error.code === "not_text" || error.code === "file_too_large")) return "";
    throw error;
  }
}
