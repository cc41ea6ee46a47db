/** The tools of one turn, found by any of their names, and the plan that an editor shows of their calls. */
import type { AgentEvent, PlanEntry } from "@chimera/acp-schema/events";
import type { Tool } from "../tool.js";

export type Toolbox = ReturnType<typeof createToolbox>;

/** `allowed` narrows the set by names or aliases; null allows all. */
export function createToolbox(tools: readonly Tool[], allowed: readonly string[] | null) {
  const chosen = allowedTools(tools, allowed);
  // Most turns call nothing: names are sorted out with the first call.
  let names: Names | undefined;
  return {
    /** Those that requests declare. */
    tools: chosen.some((tool) => tool.deferred) ? chosen.filter((tool) => !tool.deferred) : chosen,
    /** By name or alias, in any case and spelling: `functions.Read`, `read-file` and `ReadFile` are `Read`. */
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
    /** The names closest to one that no tool has, for the answer to the model. */
    nearest: (name: string): string | undefined => nearestOf(spelling(lastWord(name)), chosen),
  };
}

/** Only the latest entries are shown, so that a long turn's plans stay small. */
const LONGEST = 50;

export type Plan = ReturnType<typeof createPlan>;

/** The plan an editor shows when the model keeps no todo list: one entry per tool call. */
export function createPlan(emit: (event: AgentEvent) => void, hasTodo: boolean) {
  const entries: PlanEntry[] = [];
  let silent = hasTodo;
  const show = (): void => {
    if (!silent) emit({ type: "plan", metadata: { entries: entries.map((entry) => ({ ...entry })) } });
  };
  return {
    /** A call starts; call the returned function with how it ended. */
    start(title: string): (success: boolean) => void {
      const entry: PlanEntry = { content: title, priority: "medium", status: "in_progress" };
      entries.push(entry);
      if (entries.length > LONGEST) entries.shift();
      show();
      return (success) => {
        // What failed was not completed: it stays in progress until the model deals with it.
        if (success) entry.status = "completed";
        show();
      };
    },
    /** A todo list took over: it is the plan from now on. */
    yieldToTodo(): void {
      silent = true;
    },
  };
}

/** What a tool answers to, in lower case. */
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

// --- internal ---

interface Names {
  readonly byName: ReadonlyMap<string, Tool>;
  /** Null for a spelling that two tools share: it names neither. */
  readonly bySpelling: ReadonlyMap<string, Tool | null>;
}

function sortNames(tools: readonly Tool[]): Names {
  const byName = new Map<string, Tool>();
  const bySpelling = new Map<string, Tool | null>();
  for (const tool of tools) for (const alias of tool.aliases) byName.set(alias.toLowerCase(), tool);
  // A tool's own name wins over another's alias.
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
