/** The tools of one turn, which can be found by any of their names; and the plan of their calls that an editor shows. */
import type { AgentEvent, PlanEntry } from "@chimera/acp-schema/events";
import type { Tool } from "../tool.js";

export type Toolbox = ReturnType<typeof createToolbox>;

/** `allowed` narrows the set by names or aliases; null allows all. */
export function createToolbox(tools: readonly Tool[], allowed: readonly string[] | null) {
  const chosen = allowedTools(tools, allowed);
  // Built with the first call, because many turns make none.
  let names: Names | undefined;
  return {
    /** The tools that requests declare. */
    tools: chosen.some((tool) => tool.deferred) ? chosen.filter((tool) => !tool.deferred) : chosen,
    /** Finds a tool by name or alias in any case and spelling: `functions.Read`, `read-file` and `ReadFile` all find `Read`. */
    find(name: string): Tool | undefined {
      names ??= sortNames(chosen);
      const { byName, bySpelling } = names;
      return (
        byName.get(name.toLowerCase()) ??
        bySpelling.get(spelling(name)) ??
        bySpelling.get(spelling(lastWord(name))) ??
        undefined
      );
    },
    /** The tool name closest to an unknown name, as a hint for the model. */
    nearest: (name: string): string | undefined => nearestOf(spelling(lastWord(name)), chosen),
  };
}

/** The plan shows only its latest entries, so that it stays small in a long turn. */
const LONGEST = 50;

export type Plan = ReturnType<typeof createPlan>;

/** The plan that an editor shows when the model keeps no todo list: one entry per tool call. */
export function createPlan(emit: (event: AgentEvent) => void, hasTodo: boolean) {
  const entries: PlanEntry[] = [];
  let silent = hasTodo;
  const show = (): void => {
    if (!silent) emit({ type: "plan", metadata: { entries: entries.map((entry) => ({ ...entry })) } });
  };
  return {
    /** Adds an entry for a call. The returned function takes whether the call succeeded. */
    start(title: string): (success: boolean) => void {
      const entry: PlanEntry = { content: title, priority: "medium", status: "in_progress" };
      entries.push(entry);
      if (entries.length > LONGEST) entries.shift();
      show();
      return (success) => {
        // A failed call is not complete: its entry stays in progress.
        if (success) entry.status = "completed";
        show();
      };
    },
    /** From now on the model's todo list is the plan. */
    yieldToTodo(): void {
      silent = true;
    },
  };
}

/** A tool's name and aliases, in lower case. */
export function namesOf({ name, aliases }: Pick<Tool, "name" | "aliases">): string[] {
  return [name, ...aliases].map((each) => each.toLowerCase());
}

/**
 * The tools that `allowed` names; null allows all.
 *
 * @example
 * allowedTools(builtinTools(), ["Read", "search"]).map((tool) => tool.name); // ["Read", "search"]
 */
export function allowedTools(tools: readonly Tool[], allowed: readonly string[] | null): readonly Tool[] {
  if (allowed === null) return tools;
  const wanted = new Set(allowed.map((name) => name.toLowerCase()));
  return tools.filter((tool) => namesOf(tool).some((name) => wanted.has(name)));
}

/**
 * The tool with this name or alias. A tool's own name wins over another tool's alias.
 *
 * @example
 * findTool("read_file", builtinTools())?.name; // "Read"
 */
export function findTool(name: string, tools: readonly Tool[]): Tool | undefined {
  const key = name.toLowerCase();
  return tools.find((tool) => tool.name.toLowerCase() === key) ?? tools.find((tool) => namesOf(tool).includes(key));
}

// --- internal ---

interface Names {
  readonly byName: ReadonlyMap<string, Tool>;
  /** Null for a spelling that two tools share, which finds neither. */
  readonly bySpelling: ReadonlyMap<string, Tool | null>;
}

function sortNames(tools: readonly Tool[]): Names {
  const byName = new Map<string, Tool>();
  const bySpelling = new Map<string, Tool | null>();
  for (const tool of tools) for (const alias of tool.aliases) byName.set(alias.toLowerCase(), tool);
  // Set last, so that a tool's own name wins over another tool's alias.
  for (const tool of tools) byName.set(tool.name.toLowerCase(), tool);
  for (const [name, tool] of byName) {
    const known = bySpelling.get(spelling(name));
    bySpelling.set(spelling(name), known === undefined || known === tool ? tool : null);
  }
  return { byName, bySpelling };
}

function spelling(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Removes the namespace that models put before a name: `functions.Read`, `default_api:Read`, `tools/Read`. */
function lastWord(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("."), name.lastIndexOf(":"), name.lastIndexOf("/")) + 1);
}

/** The only tool whose name contains the wanted one, or is contained in it. */
function nearestOf(wanted: string, tools: readonly Tool[]): string | undefined {
  if (wanted.length < 3) return undefined;
  const near = tools.filter((tool) =>
    [tool.name, ...tool.aliases].map(spelling).some((name) => name.includes(wanted) || wanted.includes(name)),
  );
  return near.length === 1 ? near[0]?.name : undefined;
}
