/** The whole coding agent: tools, MCP, definitions and instructions around the loop. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent, AgentContext, Turn, TurnSettings } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { opening } from "@chimera/acp-schema/outbox";
import type { Confine } from "../confine-port.js";
import { type AgentOptions, createAgent } from "../create-agent.js";
import { allowedTools } from "../loop/toolbox.js";
import type { McpConfig } from "../mcp/config.js";
import { deferTools } from "../mcp/deferred.js";
import { createMcpPool, type McpOffer } from "../mcp/pool.js";
import type { Tool } from "../tool.js";
import { applyPatchTool, isTrainedOnPatches } from "../tools/apply-patch.js";
import { builtinTools } from "../tools/builtin-tools.js";
import { forgetSeen } from "../tools/edit/change.js";
import { cleanEnvironment } from "../tools/environment.js";
import { createJobs } from "../tools/jobs.js";
import { type AgentDefinition, definitionOf, toolsOf } from "./definition.js";
import { folderRules } from "./instructions.js";
import { createSkillTool, skillList } from "./skills.js";
import { createSurroundings, type Surroundings, type TrustPort } from "./surroundings.js";
import { type GitState, readGitState, systemPrompt } from "./system-prompt.js";
import { runTask } from "./task.js";

export interface CodingAgentOptions extends Pick<AgentOptions, "resolveModel" | "clock" | "random" | "trace"> {
  /** The directory that holds the user's own `.chimera`, `.opencode` and `.claude` files. */
  readonly home: string;
  /** Keeps the full text of outputs that are too long for the model. It is outside any workspace, and the agent may read it. */
  readonly outputsDirectory?: string;
  /** Commands and MCP servers get variables from here, except secrets. @defaultValue a path and a home only */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Confines commands and the MCP servers that the agent starts. @defaultValue nothing is confined */
  readonly confine?: Confine;
  /** Tools in addition to the built-in ones. */
  readonly tools?: readonly Tool[];
  /** Whether sessions in `cwd` may reach pages and MCP servers over the network. @defaultValue always */
  readonly mcpNetwork?: (cwd: string) => boolean;
  /** How long a turn waits for MCP servers that are new to it, in milliseconds. @defaultValue 3000 */
  readonly mcpPatienceMs?: number;
  /** A configuration file of MCP servers that the person named. */
  readonly mcpFile?: string;
  /** Whether the person named this model, which then wins over the model in an agent's file. @defaultValue never */
  readonly isNamed?: (model: string) => boolean;
  /** Which projects may choose models and start MCP servers. @defaultValue none */
  readonly trust?: TrustPort;
  /** More problems with the files of a directory, shown together with those found here. */
  readonly problems?: (cwd: string) => Promise<readonly string[]>;
}

export interface CodingAgent {
  readonly agent: Agent;
  /** The built-in and the added tools. Tools of MCP servers are known only in a session. */
  readonly tools: readonly Tool[];
  /** What the files of a directory ask for but do not get, because the person has not trusted the directory. */
  untrusted(cwd: string): Promise<readonly string[]>;
  /** Ends the jobs and MCP servers of a session. */
  closeSession(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The agent with everything around it: agent definitions, instructions, skills, MCP servers, tools and long outputs.
 *
 * @example
 * const coding = createCodingAgent({ home: homedir(), env: process.env, resolveModel: createModels({ env: process.env, chain: anthropicFirst }) });
 * const sessions = createSessions({ ...deps, agent: coding.agent });
 */
export function createCodingAgent(options: CodingAgentOptions): CodingAgent {
  const { env = {}, confine, mcpNetwork: network, mcpPatienceMs: patienceMs } = options;
  const surroundings = createSurroundings(options);
  const tools = [...builtinTools({ bash: { env, confine } }), ...(options.tools ?? [])];
  const pool = createMcpPool({ env, network, confine, patienceMs });
  const known = createKnownSessions(env);
  const { outputsDirectory } = options;
  const outfitOf = (cwd: string, parts: OutfitParts): Outfit =>
    outfitFrom(network?.(cwd) === false ? tools.filter(({ kind }) => kind !== "fetch") : tools, cwd, parts);
  const leftOut = ({ untrusted }: Surroundings, cwd: string) => [...untrusted, ...(options.trust?.leftOut(cwd) ?? [])];
  const complaintsIn = async (around: Surroundings, cwd: string): Promise<string[]> => {
    const left = leftOut(around, cwd);
    const how = options.trust?.how ?? "Name it yourself to use it";
    const plea = `${cwd} is not trusted, so this is left out: ${left.join("; ")}. ${how}.`;
    return [...around.problems, ...((await options.problems?.(cwd)) ?? []), ...(left.length === 0 ? [] : [plea])];
  };
  const prepare = async (turn: Turn, context: AgentContext) => {
    const { cwd, directories } = context.workspace;
    const notices: string[] = [];
    const session = known.of(turn.sessionId, context);
    if (session.lastTurn !== turn.seen.at(-1)) forgetSeen(context.workspace);
    session.lastTurn = turn.number;
    const [around, facts] = await Promise.all([surroundings(cwd), session.facts]);
    // Problems with files are shown once, in the first turn after the session was loaded.
    const isFirst = !session.outfit;
    if (isFirst) notices.push(...(await complaintsIn(around, cwd)));
    const definition = definitionOf(turn.settings.agent, around.agents);
    if (definition.name !== turn.settings.agent)
      notices.push(`No agent is called ${JSON.stringify(turn.settings.agent)}; build takes its place.`);
    if (isFirst) notices.push(...around.mcp.notices);
    session.asksServers ||= turn.settings.mcpServers.length > 0 || around.mcp.servers.length > 0;
    const mcp = session.asksServers ? await mcpOffer(turn, context, around.mcp, pool, notices) : NO_SERVERS;
    const { allowedTools: allowed, ...settings } = settingsFor(definition, turn.settings, options.isNamed);
    const parts = { around, facts, definition, directories, model: settings.model, allowed, mcp };
    if (!session.outfit || !isSame(session.outfit.parts, parts)) session.outfit = outfitOf(cwd, parts);
    const { tools, systemPrompt } = session.outfit;
    await session.jobs.cover(turn.number, context.workspace);
    const common = {
      ...options,
      ...(outputsDirectory !== undefined && { spill: keepOutputs(outputsDirectory) }),
      annotate: folderRules(turn, cwd),
      jobs: session.jobs,
    };
    const outfit = (taker: AgentDefinition, model: string) => {
      const dressed = outfitOf(cwd, { ...parts, definition: taker, model });
      // The agent that works on a task cannot start further tasks.
      return { ...common, ...dressed, tools: dressed.tools.filter(({ name }) => name !== "task") };
    };
    const inner = createAgent({
      ...common,
      tools,
      systemPrompt,
      delegate: (task) => runTask({ turn, context, outfit, agents: around.agents }, task),
    });
    return {
      first: notices.map(noticeOf),
      rest: inner({ ...turn, settings: { ...settings, allowedTools: null } }, context),
    };
  };
  return {
    agent: (turn, context) =>
      opening(() => prepare(turn, context).catch((error: unknown) => failing(error, options, turn, context))),
    tools,
    untrusted: async (cwd) => leftOut(await surroundings(cwd), cwd),
    closeSession: async (sessionId) => void (await Promise.all([known.close(sessionId), pool.close(sessionId)])),
    close: async () => void (await Promise.all([known.closeAll(), pool.closeAll()])),
  };
}

/**
 * The directory with the long outputs of a session, which that session may read.
 *
 * @example
 * const directory = outputsIn(join(home, "outputs"), sessionId);
 */
export function outputsIn(root: string, sessionId: string): string {
  return join(root, fileName(sessionId));
}

// --- internal ---

/** Writes an output that is too long for the model to its own file in the session's directory, and returns the path. */
function keepOutputs(root: string): NonNullable<AgentOptions["spill"]> {
  return async ({ sessionId }, name, text) => {
    const directory = outputsIn(root, sessionId);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, `${fileName(name)}.txt`);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
}

interface SessionFacts {
  readonly date: string;
  readonly shell: string | null;
  readonly git: GitState | null;
}

/** Tools and prompt, reused by the turns of a session until a part changes, because making them costs a turn its first milliseconds. */
interface Outfit {
  readonly parts: OutfitParts;
  readonly tools: readonly Tool[];
  readonly systemPrompt: string;
}

interface OutfitParts {
  readonly around: Surroundings;
  readonly facts: SessionFacts;
  readonly definition: AgentDefinition;
  readonly directories: readonly string[];
  readonly model: string;
  readonly allowed: readonly string[] | null;
  readonly mcp: McpOffer;
}

function outfitFrom(tools: readonly Tool[], cwd: string, parts: OutfitParts): Outfit {
  const { around, facts, definition, directories, model, allowed, mcp } = parts;
  const isDeclared = isTrainedOnPatches(model);
  const own = tools.map((tool) =>
    tool.name === applyPatchTool.name && isDeclared ? { ...tool, deferred: false } : tool,
  );
  const { skills } = around;
  const offered = [...own, ...(skills.length === 0 ? [] : [createSkillTool(skills)]), ...mcp.tools];
  const permitted = allowedTools(toolsOf(definition, offered), allowed);
  return {
    parts,
    tools: deferTools(permitted, (tool) => mcp.tools.includes(tool)),
    systemPrompt: systemPrompt({
      ...facts,
      agent: definition,
      cwd,
      directories,
      platform: process.platform,
      model,
      servers: mcp.instructions,
      skills: permitted.some(({ name }) => name === "skill") ? skillList(skills) : "",
      instructions: around.instructions,
    }),
  };
}

function isSame(one: OutfitParts, other: OutfitParts): boolean {
  for (const name in one) if (one[name as keyof OutfitParts] !== other[name as keyof OutfitParts]) return false;
  return true;
}

interface KnownSession {
  /** Looked up once per session: a changed system prompt would lose the provider's cache and the reasoning bound to it. */
  readonly facts: Promise<SessionFacts>;
  /** Whether the session has, or had, MCP servers. */
  asksServers: boolean;
  lastTurn: number | undefined;
  outfit: Outfit | null;
  /** Its commands that continue after their call. */
  readonly jobs: ReturnType<typeof createJobs>;
}

function createKnownSessions(env: Readonly<Record<string, string | undefined>>) {
  const known = new Map<string, KnownSession>();
  let latest: { readonly cwd: string; readonly until: number; readonly facts: Promise<SessionFacts> } | null = null;
  const find = async (cwd: string): Promise<SessionFacts> => {
    const git = await readGitState(cwd, cleanEnvironment(env)).catch(() => null);
    return { date: localDate(new Date()), shell: env["SHELL"]?.split("/").at(-1) || null, git };
  };
  /** Sessions that begin together in one directory ask git once. */
  const factsOf = (cwd: string): Promise<SessionFacts> => {
    const now = performance.now();
    if (latest?.cwd !== cwd || now > latest.until) latest = { cwd, until: now + SHARED_FOR_MS, facts: find(cwd) };
    return latest.facts;
  };
  const close = async (sessionId: string): Promise<void> => {
    const session = known.get(sessionId);
    known.delete(sessionId);
    await session?.jobs.close();
  };
  return {
    of(sessionId: string, { workspace, session: memory }: AgentContext): KnownSession {
      const found = known.get(sessionId);
      if (found) return found;
      const jobs = createJobs((event) => memory.emit(event));
      const session = { facts: factsOf(workspace.cwd), asksServers: false, lastTurn: undefined, outfit: null, jobs };
      known.set(sessionId, session);
      return session;
    },
    close,
    closeAll: () => Promise.all([...known.keys()].map(close)),
  };
}

/** How long what git says of a directory holds for other sessions that begin there. */
const SHARED_FOR_MS = 250;

/** The date in the person's time zone. `Intl` is avoided because its first use costs a process ten milliseconds. */
function localDate(now: Date): string {
  const parts = [now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, "0"));
  return [now.getFullYear(), ...parts].join("-");
}

function settingsFor(
  { model, maxSteps }: AgentDefinition,
  settings: TurnSettings,
  isNamed: CodingAgentOptions["isNamed"] = () => false,
): TurnSettings {
  return {
    ...settings,
    model: model === null || isNamed(settings.model) ? settings.model : model,
    maxSteps:
      maxSteps === null || settings.maxSteps === null
        ? (maxSteps ?? settings.maxSteps)
        : Math.min(maxSteps, settings.maxSteps),
  };
}

const NO_SERVERS: McpOffer = { tools: [], instructions: [] };

/** If the turn is cancelled meanwhile, continue without servers: the loop then ends it like every cancelled turn. */
async function mcpOffer(
  turn: Turn,
  { workspace, signal }: AgentContext,
  configured: McpConfig,
  pool: ReturnType<typeof createMcpPool>,
  notices: string[],
): Promise<McpOffer> {
  const { cwd, directories } = workspace;
  const servers = new Map([...configured.servers, ...turn.settings.mcpServers].map((server) => [server.name, server]));
  const notice = (text: string) => void notices.push(text);
  const request = { sessionId: turn.sessionId, servers: [...servers.values()], cwd, directories, signal, notice };
  return pool.offer(request).catch(() => NO_SERVERS);
}

/** Lets the loop end the turn with an error that happened before the loop started. */
function failing(error: unknown, options: CodingAgentOptions, turn: Turn, context: AgentContext) {
  const inner = createAgent({ ...options, resolveModel: () => Promise.reject(error) });
  return { first: [], rest: inner(turn, context) };
}

function noticeOf(text: string): AgentEvent {
  return { type: "notice", metadata: { level: "warning", text } };
}

/** Makes a safe file name, which cannot lead to another directory. */
function fileName(name: string): string {
  return name.replace(/[^\w.-]|^\.+$/g, "_");
}
