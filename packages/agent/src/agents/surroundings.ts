/** What the files around a session define: agents, skills, instructions, MCP servers. They are read again when they change. */
import { join } from "node:path";
import { whileUnchanged } from "../files/project-file.js";
import { loadMcpConfig, type McpConfig, mcpConfigFiles } from "../mcp/config.js";
import { agentFolders, type LoadedAgents, loadAgents } from "./definition.js";
import { instructionPlaces, loadInstructions } from "./instructions.js";
import { type LoadedSkills, loadSkills, skillFolders } from "./skills.js";

export interface Surroundings extends LoadedAgents, LoadedSkills {
  readonly instructions: string;
  readonly mcp: McpConfig;
}

/** Which directories the person trusts. */
export interface TrustPort {
  /** The file with the person's answers. When it changes, everything is read again. */
  readonly file: string;
  isGiven(cwd: string): boolean;
  /** Settings of an untrusted directory that the program itself ignores. */
  leftOut(cwd: string): readonly string[];
  /** How a person trusts a directory: a sentence without its full stop. */
  readonly how: string;
}

export interface SurroundingsOptions {
  readonly home: string;
  readonly mcpFile?: string;
  readonly trust?: TrustPort;
}

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

async function load({ home, mcpFile, trust }: SurroundingsOptions, cwd: string): Promise<Surroundings> {
  const trusted = trust?.isGiven(cwd) ?? false;
  const [{ agents, problems, untrusted }, skills, instructions, mcp] = await Promise.all([
    loadAgents({ home, cwd, trusted }),
    loadSkills({ home, cwd, trusted }),
    loadInstructions({ home, cwd }),
    loadMcpConfig({ home, cwd, trusted, file: mcpFile }),
  ]);
  return {
    agents,
    instructions: instructions.text,
    skills: skills.skills,
    mcp,
    problems: [...problems, ...skills.problems, ...instructions.problems],
    untrusted: [...untrusted, ...skills.untrusted, ...mcp.untrusted],
  };
}

/** The paths whose changes make the cached result stale. */
function watched({ home, mcpFile, trust }: SurroundingsOptions, cwd: string): string[] {
  const mcp = mcpConfigFiles(home, cwd);
  return [
    ...[home, cwd].flatMap((root) => [...agentFolders(root), ...skillFolders(root)]),
    ...instructionPlaces({ home, cwd }).flatMap(({ root, paths }) => paths.map((path) => join(root, path))),
    mcp.user,
    ...mcp.project,
    ...(mcpFile === undefined ? [] : [mcpFile]),
    ...(trust ? [trust.file] : []),
  ];
}
