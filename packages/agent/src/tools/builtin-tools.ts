/** The built-in tools, and the lookup of tools by the names that a person types. */
import { AgentError } from "../errors.js";
import { findTool } from "../loop/toolbox.js";
import type { Tool } from "../tool.js";
import { acpTerminalTool } from "./acp-terminal.js";
import { applyPatchTool } from "./apply-patch.js";
import { askTool } from "./ask.js";
import { type BashOptions, createBashTool } from "./bash.js";
import { editTool } from "./edit.js";
import { jobInputTool, jobTool } from "./jobs.js";
import { listFilesTool } from "./list-files.js";
import { readTool } from "./read.js";
import { createSearchTool } from "./search.js";
import { taskTool } from "./task.js";
import { thinkTool, todoTool } from "./think.js";
import { createWebFetchTool } from "./web-fetch.js";
import { replaceInFileTool, writeTool } from "./write.js";

export interface BuiltinToolOptions {
  readonly bash?: BashOptions;
}

/**
 * In the order in which they are shown. The tools keep no state, so one set serves every session.
 *
 * @example
 * const agent = createAgent({ resolveModel, tools: builtinTools({ bash: { env: process.env } }) });
 */
export function builtinTools(options: BuiltinToolOptions = {}): Tool[] {
  return [
    readTool,
    writeTool,
    editTool,
    createBashTool(options.bash),
    jobTool,
    jobInputTool,
    createSearchTool(),
    listFilesTool,
    replaceInFileTool,
    applyPatchTool,
    createWebFetchTool() as Tool,
    thinkTool,
    askTool,
    taskTool,
    todoTool,
    // Left out when commands are confined, because commands in an editor's terminal cannot be.
    ...(options.bash?.confine ? [] : [acpTerminalTool]),
  ];
}

/**
 * The named tools, in the order of `tools`. Throws `unknown_tool` with the valid names. Names of MCP tools are not checked.
 *
 * @example
 * resolveTools(["read_file", "bash"], builtinTools()).map((tool) => tool.name); // ["Read", "Bash"]
 */
export function resolveTools(names: readonly string[], tools: readonly Tool[]): Tool[] {
  const wanted = names.map((name) => name.trim()).filter((name) => name !== "");
  const unknown = wanted.filter((name) => !name.toLowerCase().startsWith("mcp__") && !findTool(name, tools));
  if (unknown.length > 0) {
    const valid = tools.map((tool) => [tool.name, ...tool.aliases].join("/")).join(", ");
    throw new AgentError(
      "unknown_tool",
      `Unknown tool ${unknown.map((name) => JSON.stringify(name)).join(", ")}. Valid: ${valid}`,
    );
  }
  const chosen = new Set(wanted.map((name) => findTool(name, tools)));
  return tools.filter((tool) => chosen.has(tool));
}
