/** From the names a person types to tools. */
import { AgentError } from "../errors.js";
import { findTool, type Tool } from "../tool.js";

/**
 * The tools named, each once, in the order of `tools`; either name, in any case. `unknown_tool` lists the valid names. The
 * names of MCP tools are taken on trust: their servers may not have been asked yet.
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
