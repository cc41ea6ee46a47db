/** `@chimera/agent/tools`: the built-in tools, one by one and together. */

export { localWorkspace } from "../files/canonical-file.js";
export { allowedTools, findTool } from "../loop/toolbox.js";
export type { Job, Jobs } from "../tool.js";
export { acpTerminalTool } from "./acp-terminal.js";
export { applyPatchTool } from "./apply-patch.js";
export { askTool } from "./ask.js";
export { type BashOptions, createBashTool } from "./bash.js";
export { type BuiltinToolOptions, builtinTools, resolveTools } from "./builtin-tools.js";
export { defineTool, type ToolParts } from "./define.js";
export { editTool } from "./edit.js";
export { cleanEnvironment } from "./environment.js";
export { createJobs, jobInputTool, jobTool } from "./jobs.js";
export { listFilesTool } from "./list-files.js";
export { type ProcessGroup, spawnGroup } from "./process-group.js";
export { readTool } from "./read.js";
export { createSearchTool, type SearchOptions } from "./search.js";
export { taskTool } from "./task.js";
export { thinkTool, todoTool } from "./think.js";
export { createWebFetchTool, type WebFetchOptions } from "./web-fetch.js";
export { replaceInFileTool, writeTool } from "./write.js";
