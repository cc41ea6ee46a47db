/** The tools of one turn, found by any of their names. */
import type { Tool } from "../tool.js";
import { allowedTools } from "../tool-names.js";

export interface Toolbox {
  readonly tools: readonly Tool[];
  /** By name or alias, in any case. */
  find(name: string): Tool | undefined;
}

/** `allowed` narrows the set by names or aliases; null allows all. */
export function createToolbox(tools: readonly Tool[], allowed: readonly string[] | null): Toolbox {
  const chosen = allowedTools(tools, allowed);
  const byName = new Map<string, Tool>();
  for (const tool of chosen) for (const alias of tool.aliases) byName.set(alias.toLowerCase(), tool);
  // A tool's own name wins over another's alias.
  for (const tool of chosen) byName.set(tool.name.toLowerCase(), tool);
  return { tools: chosen, find: (name) => byName.get(name.toLowerCase()) };
}
