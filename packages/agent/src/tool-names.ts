/** What a tool answers to: its own name and its aliases, in any case. */
import { AgentError } from "./errors.js";
import type { Tool } from "./tool.js";

/** In lower case. */
export function namesOf({ name, aliases }: Pick<Tool, "name" | "aliases">): string[] {
  return [name, ...aliases].map((each) => each.toLowerCase());
}

/** Those that `allowed` names; null allows all. */
export function allowedTools(tools: readonly Tool[], allowed: readonly string[] | null): readonly Tool[] {
  if (allowed === null) return tools;
  const wanted = new Set(allowed.map((name) => name.toLowerCase()));
  return tools.filter((tool) => namesOf(tool).some((name) => wanted.has(name)));
}

/** The tool that answers to a name; its own wins over another's alias. */
export function findTool(name: string, tools: readonly Tool[]): Tool | undefined {
  const key = name.toLowerCase();
  return tools.find((tool) => tool.name.toLowerCase() === key) ?? tools.find((tool) => namesOf(tool).includes(key));
}

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
