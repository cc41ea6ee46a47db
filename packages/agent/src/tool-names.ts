/** What a tool answers to: its own name and its aliases, in any case. */
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
