/** The tools of one turn, found by any of their names. */
import type { Tool } from "../tool.js";
import { allowedTools } from "../tool-names.js";

export interface Toolbox {
  /** Those that requests declare. */
  readonly tools: readonly Tool[];
  /** By name or alias, in any case and spelling: `functions.Read`, `read-file` and `ReadFile` are `Read`. */
  find(name: string): Tool | undefined;
  /** The names closest to one that no tool has, for the answer to the model. */
  nearest(name: string): string | undefined;
}

/** `allowed` narrows the set by names or aliases; null allows all. */
export function createToolbox(tools: readonly Tool[], allowed: readonly string[] | null): Toolbox {
  const chosen = allowedTools(tools, allowed);
  const byName = new Map<string, Tool>();
  const bySpelling = new Map<string, Tool | null>();
  for (const tool of chosen) for (const alias of tool.aliases) byName.set(alias.toLowerCase(), tool);
  // A tool's own name wins over another's alias.
  for (const tool of chosen) byName.set(tool.name.toLowerCase(), tool);
  for (const [name, tool] of byName) {
    const known = bySpelling.get(spelling(name));
    // A spelling that two tools share names neither.
    bySpelling.set(spelling(name), known === undefined || known === tool ? tool : null);
  }
  return {
    tools: chosen.filter((tool) => !tool.deferred),
    find: (name) =>
      byName.get(name.toLowerCase()) ??
      bySpelling.get(spelling(name)) ??
      bySpelling.get(spelling(lastWord(name))) ??
      undefined,
    nearest: (name) => nearestOf(spelling(lastWord(name)), chosen),
  };
}

// --- internal ---

function spelling(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Models put a namespace before the name: `functions.Read`, `default_api:Read`, `tools/Read`. */
function lastWord(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("."), name.lastIndexOf(":"), name.lastIndexOf("/")) + 1);
}

/** A tool whose name holds the other one, or is held by it. */
function nearestOf(wanted: string, tools: readonly Tool[]): string | undefined {
  if (wanted.length < 3) return undefined;
  const near = tools.filter((tool) =>
    [tool.name, ...tool.aliases].map(spelling).some((name) => name.includes(wanted) || wanted.includes(name)),
  );
  return near.length === 1 ? near[0]?.name : undefined;
}
