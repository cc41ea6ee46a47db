/** An agent definition: who answers a prompt, with which tools, how freely and in which role. */
import type { AgentPermission } from "../policy/decide.js";
import { compileGlob } from "../policy/glob.js";
import { namesOf, type Tool } from "../tool.js";

export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  /** Whether people pick it, other agents call it, or both. */
  readonly mode: "primary" | "subagent" | "all";
  /** Names, aliases or globs of its tools; null: all there are. */
  readonly tools: readonly string[] | null;
  readonly permission: AgentPermission["permission"];
  readonly rules: AgentPermission["rules"];
  /** The most steps of a turn; null: the session's. */
  readonly maxSteps: number | null;
  /** The model it wants; null: the session's. */
  readonly model: string | null;
  /** Joins the system prompt. */
  readonly prompt: string;
  readonly hidden: boolean;
  readonly source: "built-in" | "user" | "project";
}

const READING = ["Read", "search", "list_files", "think", "todo"];

const common = { rules: [], model: null, maxSteps: null, hidden: false, source: "built-in" } as const;

/** In the order in which they are offered. */
export const BUILTIN_AGENTS: readonly AgentDefinition[] = [
  {
    ...common,
    name: "build",
    description: "Changes code: reads, edits, runs commands.",
    mode: "primary",
    tools: null,
    permission: "interactive",
    prompt:
      "You change the code of this project. Make the smallest change that does what was asked, and check that it works.",
  },
  {
    ...common,
    name: "plan",
    description: "Reads and plans; changes nothing.",
    mode: "primary",
    tools: READING,
    permission: "read_only",
    prompt: "You plan and change nothing. Read what matters, then give a plan of concrete steps that name the files.",
  },
  {
    ...common,
    name: "explore",
    description: "Answers questions about the code; changes nothing.",
    mode: "primary",
    tools: READING,
    permission: "read_only",
    prompt:
      "You answer questions about this project. Look before you answer, and name the files and lines you rely on.",
  },
  {
    ...common,
    name: "review",
    description: "Reviews code; changes nothing.",
    mode: "subagent",
    tools: READING,
    permission: "read_only",
    prompt: "You review code. Report defects first, most serious first, each with its place and a way to show it.",
  },
  {
    ...common,
    name: "general",
    description: "Works on its own: like build, without asking in the workspace.",
    mode: "all",
    tools: null,
    permission: "auto_approve",
    prompt: "You work on a task on your own. Carry it through, and end with what you did and what is left.",
  },
];

/** Which of the tools the agent has. */
export function toolsOf({ tools }: AgentDefinition, offered: readonly Tool[]): Tool[] {
  if (tools === null) return [...offered];
  const wanted = tools.map((name) => compileGlob(name.toLowerCase(), "rule"));
  return offered.filter((tool) => namesOf(tool).some((name) => wanted.some((matches) => matches(name))));
}

/** What the policy needs to know of it. */
export function permissionOf({ name, permission, rules, source }: AgentDefinition): AgentPermission {
  return { name, permission, rules, trusted: source !== "project" };
}
