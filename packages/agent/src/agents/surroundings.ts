/** Everything that files around a session say about it: agents, rules, instructions, MCP servers. Read again when they change. */
import { join } from "node:path";
import { whileUnchanged } from "../files/while-unchanged.js";
import { loadMcpConfig, type McpConfig } from "../mcp/config.js";
import { loadProjectRules } from "../policy/project-rules.js";
import { loadRuleset, type Ruleset } from "../policy/ruleset.js";
import { loadInstructions } from "./instructions.js";
import { type LoadedAgents, loadAgents } from "./load-agents.js";

export interface Surroundings {
  readonly agents: LoadedAgents["agents"];
  readonly rules: Ruleset;
  readonly projectRules: Ruleset;
  readonly instructions: string;
  readonly mcp: McpConfig;
  /** What could not be used, each naming its file. */
  readonly problems: readonly string[];
}

export interface SurroundingsOptions {
  readonly home: string;
  readonly permissionsFile: string;
  readonly mcpFile?: string;
  readonly trustProject?: boolean;
}

/** The surroundings of a directory. */
export function createSurroundings(options: SurroundingsOptions): (cwd: string) => Promise<Surroundings> {
  const kept = whileUnchanged<Surroundings>();
  return (cwd) =>
    kept(
      cwd,
      () => watched(options, cwd),
      () => load(options, cwd),
    );
}

// --- internal ---

async function load({ home, permissionsFile, mcpFile, trustProject = false }: SurroundingsOptions, cwd: string) {
  const [{ agents, problems }, rules, projectRules, instructions, mcp] = await Promise.all([
    loadAgents({ home, cwd }),
    loadRuleset(permissionsFile),
    loadProjectRules(cwd),
    loadInstructions({ home, cwd }),
    loadMcpConfig({ home, cwd, trustProject, ...(mcpFile !== undefined && { file: mcpFile }) }),
  ]);
  return {
    agents,
    rules,
    projectRules,
    instructions,
    mcp,
    problems: [...problems, ...projectRules.problems, ...rules.problems],
  };
}

function watched({ home, permissionsFile, mcpFile }: SurroundingsOptions, cwd: string): string[] {
  const shared = [".opencode/agent", ".opencode/agents", ".opencode/config.json"];
  const user = [...shared, ".opencode/AGENTS.md", ".config/opencode/AGENTS.md"];
  const project = [
    ...shared,
    "AGENTS.md",
    ".cursor/rules",
    ".opencode/rules.md",
    ".opencode/permissions.json",
    ".chimera/permissions.json",
    ".opencode/mcp.json",
  ];
  return [
    ...user.map((path) => join(home, path)),
    ...project.map((path) => join(cwd, path)),
    permissionsFile,
    ...(mcpFile === undefined ? [] : [mcpFile]),
  ];
}
