/** The tools every agent has. */
import type { Tool } from "../tool.js";
import { acpTerminalTool } from "./acp-terminal.js";
import { type BashOptions, createBashTool } from "./bash.js";
import { editTool } from "./edit.js";
import { listFilesTool } from "./list-files.js";
import { readTool } from "./read.js";
import { replaceInFileTool } from "./replace-in-file.js";
import { createSearchTool } from "./search.js";
import { thinkTool } from "./think.js";
import { todoTool } from "./todo.js";
import { writeTool } from "./write.js";

export interface BuiltinToolOptions {
  readonly bash?: BashOptions;
}

/** In the order in which they are shown; they keep no state, so one set serves every session. */
export function builtinTools(options: BuiltinToolOptions = {}): Tool[] {
  return [
    readTool,
    writeTool,
    editTool,
    createBashTool(options.bash),
    createSearchTool(),
    listFilesTool,
    replaceInFileTool,
    thinkTool,
    todoTool,
    // What runs in an editor's terminal cannot be confined.
    ...(options.bash?.confine ? [] : [acpTerminalTool]),
  ];
}
