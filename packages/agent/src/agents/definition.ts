/**
 * Agent definitions: name, prompt, tools and permissions. The files of a trusted project win over the user's. An untrusted project can
 * only add agents, and add words and limits to known ones.
 */
import { basename, join, sep } from "node:path";
import type { ToolKind } from "@chimera/acp-schema/events";
import { parseFrontMatter } from "@chimera/acp-schema/front-matter";
import { compileGlob } from "@chimera/acp-schema/glob";
import { type AgentPermission, actionOf, type Rule } from "@chimera/acp-schema/policy";
import { type Loaded, listBeneath, type Places, readTextBeneath, whileUnchanged } from "../files/project-file.js";
import { isJsonObject } from "../json.js";
import { namesOf } from "../loop/toolbox.js";
import type { Tool } from "../tool.js";

export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  /** `primary`: people choose it; `subagent`: other agents call it; `all`: both. */
  readonly mode: "primary" | "subagent" | "all";
  /** Names, aliases or globs of its tools; null for all tools. */
  readonly tools: readonly string[] | null;
  readonly permission: AgentPermission["permission"];
  readonly rules: AgentPermission["rules"];
  /** Most steps in a turn; null for the session's limit. */
  readonly maxSteps: number | null;
  /** The model it uses; null for the session's model. */
  readonly model: string | null;
  /** Added to the system prompt. */
  readonly prompt: string;
  readonly hidden: boolean;
  readonly source: "built-in" | "user" | "project";
}

const common = { tools: null, rules: [], model: null, maxSteps: null, hidden: false, source: "built-in" } as const;

/** What the agents that change nothing have in common. */
const readOnlyAgent = {
  ...common,
  tools: ["Read", "search", "list_files", "think", "todo", "skill", "ask"],
  permission: "read_only",
} as const;

/** In the order in which clients list them. */
export const BUILTIN_AGENTS: readonly AgentDefinition[] = [
  {
    ...common,
    name: "build",
    description: "Changes code: reads, edits, runs commands.",
    mode: "primary",
    permission: "interactive",
    prompt:
      "You change the code of this project. Make the smallest change that does what was asked, and check that it works.",
  },
  {
    ...readOnlyAgent,
    name: "plan",
    description: "Reads and plans; changes nothing.",
    mode: "primary",
    prompt: "You plan and change nothing. Read what matters, then give a plan of concrete steps that name the files.",
  },
  {
    ...readOnlyAgent,
    name: "explore",
    description: "Answers questions about the code; changes nothing.",
    mode: "primary",
    prompt:
      "You answer questions about this project. Look before you answer, and name the files and lines you rely on.",
  },
  {
    ...readOnlyAgent,
    name: "review",
    description: "Reviews code; changes nothing.",
    mode: "subagent",
    prompt: "You review code. Report defects first, most serious first, each with its place and a way to show it.",
  },
  {
    ...common,
    name: "general",
    description: "Works on its own: like build, without asking in the workspace.",
    mode: "all",
    permission: "auto_approve",
    prompt: "You work on a task on your own. Carry it through, and end with what you did and what is left.",
  },
];

/**
 * The offered tools that an agent may use.
 *
 * @example
 * const tools = toolsOf(definition, builtinTools());
 */
export function toolsOf({ tools }: AgentDefinition, offered: readonly Tool[]): Tool[] {
  if (tools === null) return [...offered];
  const wanted = tools.map((name) => compileGlob(name.toLowerCase(), "rule"));
  return offered.filter((tool) => namesOf(tool).some((name) => wanted.some((matches) => matches(name))));
}

/** The definition with that name, or `build`. */
export function definitionOf(name: string, agents: readonly AgentDefinition[]): AgentDefinition {
  return agents.find((agent) => agent.name === name) ?? (BUILTIN_AGENTS[0] as AgentDefinition);
}

/**
 * What the policy needs to know about the agent with that name.
 *
 * @example
 * const policy = createPolicy({ agent: (name) => permissionOf(name, agents) });
 */
export function permissionOf(named: string, agents: readonly AgentDefinition[]): AgentPermission {
  const { name, permission, rules, source } = definitionOf(named, agents);
  return { name, permission, rules, trusted: source !== "project" };
}

export interface LoadedAgents extends Loaded {
  readonly agents: readonly AgentDefinition[];
}

/**
 * Reads the user's and the project's agents: `agent/*.md` and `agents/*.md` in `.opencode` and `.chimera`, and `.claude/agents/*.md`.
 *
 * @example
 * const { agents, problems } = await loadAgents({ home: homedir(), cwd, trusted: false });
 */
export async function loadAgents({ home, cwd, trusted }: Places): Promise<LoadedAgents> {
  const problems: string[] = [];
  const untrusted: string[] = [];
  const agents = new Map(BUILTIN_AGENTS.map((agent) => [agent.name, agent]));
  for (const [root, source] of [
    [home, "user"],
    [cwd, "project"],
  ] as const) {
    const files = await Promise.all(FOLDERS.map((folder) => listBeneath(root, folder, ".md")));
    for (const path of files.flat()) {
      const text = await readTextBeneath(root, path);
      if (text === null || text.trim() === "") continue;
      const { agent: written, complaints } = await parseAgent(text, basename(path, ".md"), source);
      const isForeign = path.startsWith(FOREIGN);
      if (isForeign && agents.has(written.name)) continue;
      // Agents of another program can only be called by other agents, and its model names mean nothing here.
      const agent = isForeign ? { ...written, mode: "subagent" as const, model: null } : written;
      problems.push(...complaints.map((complaint) => `${join(root, path)}: ${complaint}`));
      const isFree = source === "user" || trusted;
      if (!isFree && agent.model !== null) untrusted.push(`the model ${agent.model} of ${join(root, path)}`);
      const before = agents.get(agent.name);
      const bound = source === "project" && before ? narrowed(before, agent) : agent;
      agents.set(agent.name, isFree ? bound : added(before, bound));
    }
  }
  return { agents: [...agents.values()], problems, untrusted };
}

/** The directories below a home or a project that define agents. As text, because every session asks, and `join` is slow. */
export function agentFolders(root: string): string[] {
  return FOLDERS.map((folder) => root + sep + folder);
}

/**
 * `loadAgents` for any directory, with a cache that lasts until the files change.
 *
 * @example
 * const agentsIn = createAgentList(homedir(), (cwd) => trusted.has(cwd));
 * const { agents } = await agentsIn(cwd);
 */
export function createAgentList(
  home: string,
  isTrusted: (cwd: string) => boolean,
): (cwd: string) => Promise<LoadedAgents> {
  const kept = whileUnchanged<LoadedAgents>();
  return (cwd) => {
    const trusted = isTrusted(cwd);
    return kept(
      `${trusted} ${cwd}`,
      () => [home, cwd].flatMap(agentFolders),
      () => loadAgents({ home, cwd, trusted }),
    );
  };
}

// --- internal ---

/** The folder of another program. Its agents are used only when no other agent has the same name. */
const FOREIGN = join(".claude", "agents");
/** Later folders win over earlier ones, except `FOREIGN`. */
const FOLDERS = [
  ...[".opencode", ".chimera"].flatMap((place) => ["agent", "agents"].map((folder) => join(place, folder))),
  FOREIGN,
];

type Source = "user" | "project";

async function parseAgent(text: string, stem: string, source: Source) {
  const { head, body, problem } = await parseFrontMatter(text);
  const complaints = problem === null ? [] : [`its head was not read: ${problem}`];
  const name = textOf(head["name"]) ?? stem;
  const permission = permissionWord(head["permissions"]) ?? permissionWord(head["permission"]);
  const map = [head["permission"], head["permissions"]].find(isJsonObject);
  const { rules, unknown } = rulesOf(map ?? {}, name);
  complaints.push(...unknown);
  const agent: AgentDefinition = {
    name,
    description: textOf(head["description"]) ?? "",
    mode: (["primary", "subagent", "all"] as const).find((mode) => mode === head["mode"]) ?? "all",
    tools: toolNames(head["tools"]),
    permission: permission ?? "interactive",
    rules: [...disabledTools(head["tools"], name), ...rules],
    maxSteps: stepsOf(head["max_steps"] ?? head["steps"]),
    model: textOf(head["model"]),
    prompt: body.trim(),
    hidden: head["hidden"] === true,
    source,
  };
  return { agent, complaints };
}

const FREEDOM = ["always_deny", "read_only", "interactive", "auto_approve"] as const;

function permissionWord(value: unknown): AgentDefinition["permission"] | null {
  return FREEDOM.find((word) => word === value) ?? null;
}

/** A project may redefine a known agent, but not lift its limits. */
function narrowed(before: AgentDefinition, agent: AgentDefinition): AgentDefinition {
  const permission = FREEDOM[Math.min(FREEDOM.indexOf(before.permission), FREEDOM.indexOf(agent.permission))];
  const { tools: wider } = before;
  const tools =
    agent.tools === null || wider === null
      ? (agent.tools ?? wider)
      : agent.tools.filter((name) => wider.some((each) => each.toLowerCase() === name.toLowerCase()));
  const rules = [...before.rules, ...agent.rules].filter(({ action }) => action !== "allow");
  const limits = [before.maxSteps, agent.maxSteps].filter((limit) => limit !== null);
  const maxSteps = limits.length === 0 ? null : Math.min(...limits);
  return {
    ...agent,
    permission: permission ?? "read_only",
    tools,
    rules,
    maxSteps,
    model: agent.model ?? before.model,
  };
}

/** An untrusted project's agent cannot choose a model. If it names a known agent, it only adds words and limits to it. */
function added(before: AgentDefinition | undefined, agent: AgentDefinition): AgentDefinition {
  if (!before) return { ...agent, model: null };
  const { description, mode, model, hidden } = before;
  const prompt = [before.prompt, agent.prompt].filter((text) => text !== "").join("\n\n");
  return { ...agent, description, mode, model, hidden, prompt };
}

const KINDS: Readonly<Record<string, { readonly kinds: readonly ToolKind[]; readonly argKey?: string }>> = {
  edit: { kinds: ["edit", "delete", "move"], argKey: "path" },
  read: { kinds: ["read", "search"], argKey: "path" },
  bash: { kinds: ["execute"], argKey: "command" },
  webfetch: { kinds: ["fetch"] },
};

/** Parses `edit: ask`, `bash: {"git push*": ask}`, `mcp__x__*: deny`: a category or tool, with one action or an action per pattern. */
function rulesOf(map: Readonly<Record<string, unknown>>, agent: string): { rules: Rule[]; unknown: string[] } {
  const unknown: string[] = [];
  const rules = Object.entries(map).flatMap(([key, value]) => {
    const category = Object.hasOwn(KINDS, key) ? KINDS[key] : undefined;
    const base = {
      tool: category ? "*" : key,
      source: `agent ${agent} ${key}`,
      ...(category && { kinds: category.kinds }),
    };
    const patterns =
      isJsonObject(value) && category?.argKey !== undefined ? Object.entries(value) : [[null, value] as const];
    return patterns.flatMap(([pattern, word]): Rule[] => {
      const action = actionOf(word);
      if (!action) unknown.push(`permission ${key} has the unknown action ${JSON.stringify(word)}`);
      if (!action) return [];
      const argument =
        pattern === null || pattern === "*" ? {} : { argKey: category?.argKey ?? "", argPattern: pattern };
      return [{ ...base, action, ...argument }];
    });
  });
  return { rules, unknown };
}

function toolNames(value: unknown): string[] | null {
  if (typeof value === "string") return value.split(",").map((name) => name.trim());
  return Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : null;
}

/** `tools: {write: false}` switches tools off. */
function disabledTools(value: unknown, agent: string): Rule[] {
  if (!isJsonObject(value)) return [];
  const off = Object.keys(value).filter((tool) => value[tool] === false);
  return off.map((tool) => ({ tool, action: "deny", source: `agent ${agent} tools` }));
}

function stepsOf(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}
