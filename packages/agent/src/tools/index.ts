/** `@chimera/agent/tools`: the built-in tools, one by one and together. */
export { allowedTools, findTool } from "../tool.js";
export { localWorkspace } from "../workspace.js";
export { acpTerminalTool } from "./acp-terminal.js";
export { type BashOptions, createBashTool } from "./bash.js";
export { type BuiltinToolOptions, builtinTools } from "./builtin-tools.js";
export { defineTool, type ToolParts } from "./define.js";
export { editTool } from "./edit.js";
export { cleanEnvironment } from "./environment.js";
export { listFilesTool } from "./list-files.js";
export { readTool } from "./read.js";
export { replaceInFileTool } from "./replace-in-file.js";
export { resolveTools } from "./resolve-tools.js";
export { createSearchTool, type SearchOptions } from "./search.js";
export { thinkTool } from "./think.js";
export { todoTool } from "./todo.js";
export { writeTool } from "./write.js";
