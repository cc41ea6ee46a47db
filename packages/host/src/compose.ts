/** The composition root: makes stores, agent and sessions from flags, environment and paths. Loaded with the first session. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { ModelsReply } from "@chimera/acp-schema/http";
import { lazily } from "@chimera/acp-schema/promises";
import type { Summary } from "@chimera/acp-schema/summary";
import type { Core } from "@chimera/acp-server";
import type { Tool, Trace } from "@chimera/agent";
import { type CodingAgent, createAgentList } from "@chimera/agent/agents";
import { defaultModel } from "@chimera/agent/providers";
import { allowedTools, localWorkspace } from "@chimera/agent/tools";
import { createMemoryStore } from "@chimera/event-store";
import {
  createSessions,
  createSlashPalette,
  type OptionOrders,
  recoverRestores,
  type Sessions,
  type SlashPalette,
} from "@chimera/session";
import type { RecoveryReport } from "@chimera/snapshot-store";
import type { Config } from "./config/read-config.js";
import { settingOf } from "./config/resolve.js";
import { createEffort } from "./effort.js";
import { chosenEngine, createEngines, type Engines } from "./engines.js";
import type { AnswerRequest, JoinedNodes } from "./join-nodes.js";
import type { Log } from "./log/log.js";
import { openModels } from "./models.js";
import { createLazySnapshots, createTurnAgent } from "./on-demand.js";
import { isOnlyStore } from "./paths.js";
import type { AgentParts, Profile, StartedExtension } from "./profile.js";
import { programCommands } from "./program-commands.js";
import { createProjectRules } from "./project-rules.js";
import { requireTools } from "./require-names.js";
import { sessionFiles } from "./session-files.js";
import { createSessionPolicy } from "./session-policy.js";
import { openStorage, type Storage, startFileThreads } from "./storage.js";
import { HOW_TO_TRUST } from "./trust.js";

export interface CoreOptions {
  readonly log: Log;
  readonly profile: Profile;
  readonly env: NodeJS.ProcessEnv;
  readonly config: Config;
  readonly extensions: readonly StartedExtension[];
  /** Makes the handler of other nodes' HTTP requests, for a process that has no HTTP server. */
  readonly answerAlone: (core: RunningCore) => Promise<AnswerRequest>;
  /** @defaultValue no work is traced to its turn */
  readonly trace?: Trace;
  /** Called while a workspace is read for the first time, with the number of files so far; null when it is done. */
  readonly onIndexing?: (files: number | null) => void;
  /** How long a turn waits for MCP servers that have not started yet. @defaultValue the pool's own, short time */
  readonly mcpPatienceMs?: number;
}

export interface RunningCore extends Core {
  readonly sessions: Sessions;
  readonly palette: SlashPalette;
  /** Every tool of the program except those of MCP servers. */
  tools(): Promise<readonly Tool[]>;
  /** The tools of a session without an editor, unless it asks for fewer. */
  offered(): Promise<readonly Tool[]>;
  /** What the files of a directory want and do not get; empty once the person has said whether they trust the directory. */
  untrusted(cwd: string): Promise<readonly string[]>;
  readonly engines: Engines;
  /** The answer of `GET /providers`. */
  providers(): {
    active: { provider: string; model: string };
    available: { name: string; configured: boolean }[];
  };
  /** The models of `GET /models`: the suggested ones with their known facts. */
  knownModels(): Promise<ModelsReply["models"]>;
  /** What the nodes of a database share; null with files. */
  readonly shared: Storage["shared"];
  readonly nodes: JoinedNodes | null;
  readonly pathOf: Storage["pathOf"];
  close(): Promise<void>;
}

export async function createCore(options: CoreOptions): Promise<RunningCore> {
  const { profile, env, config, extensions, log, onIndexing } = options;
  startFileThreads(env);
  const { chain } = profile;
  const { paths, values } = config;
  const projects = createProjectRules(config, log, extensions.find(({ flags }) => flags)?.flags);
  const { store, shared, pathOf, sizeOf, kept } = await openStorage({ paths, values, program: profile.name, log });
  const ephemeral = createMemoryStore<SessionEvent, Summary>();
  const snapshots = createLazySnapshots(paths.snapshots, async () => {
    const { createSnapshotStore } = await import("@chimera/snapshot-store");
    const opened = createSnapshotStore({ root: paths.snapshots, exclude: [paths.root], onIndexing });
    await recoverRestores(store, opened, onRecovered, { isOnlyStore: isOnlyStore(paths) });
    return opened;
  });
  const agentsIn = createAgentList(paths.home, config.trust.isTrusted);
  const parts = lazily(() => joinAgentParts(extensions));
  const policy = createSessionPolicy({ paths, kept, agents: agentsIn, parts: parts.get });
  const problems = async (cwd: string) => [...(await policy.problems(cwd)), ...(await palette.clashes(cwd))];
  const turns = createTurnAgent(async () => openCodingAgent(options, await parts.get(), problems));
  const engines = createEngines({
    values,
    env,
    home: paths.home,
    profile,
    log,
    confine: async () => (await parts.get()).confine,
  });
  const models = await openModels({ env, chain, packages: { rows: values.providers, directory: paths.root } });
  const effort = createEffort(models.canThink);
  const orders: OptionOrders = Object.assign({}, ...extensions.map((extension) => extension.orders));
  const palette = createSlashPalette({
    home: paths.home,
    orders,
    commands: [
      effort.command,
      ...programCommands({
        tools: turns.tools,
        permissionsFile: paths.permissions,
        trust: config.trust,
        agents: (cwd) => core.agents(cwd),
        served: models.served,
      }),
      ...extensions.flatMap(({ commands }) => commands ?? []),
    ],
  });
  const acp = async () => {
    const { acpServer } = await import("./serve/acp.js");
    const { cwd } = config;
    const historyLimit = values.acp_history;
    return acpServer({ profile, core: async () => core, extensions, cwd, dialect: "auto", historyLimit, log });
  };
  const onRecovered = ({ sessionId: session, result, message }: RecoveryReport) => {
    const said = result === "failed" ? "an interrupted undo is still unfinished" : "an interrupted undo was settled";
    log.warn(said, { session, result, message });
  };
  const sessions = createSessions({
    agent: engines.route(turns.agent),
    async admit(asked) {
      const wanted = asked.settings?.allowedTools;
      if (wanted) requireTools(wanted, await permitted(), sessions.defaults.allowedTools);
      return projects.admit(asked);
    },
    requirePlace: projects.requirePlace,
    bound: projects.bound,
    policy,
    orders,
    store,
    ephemeral,
    snapshots,
    disk: localWorkspace(paths.home),
    prefix: profile.name,
    quotas: values.limits,
    ...(shared && { elsewhere: () => shared.heldElsewhere(profile.name) }),
    files: sessionFiles(paths, sizeOf),
    defaults: {
      model: values.model ?? defaultModel(env, chain),
      agent: values.agent,
      maxSteps: values.max_steps,
      maxCostUsd: values.max_cost,
      allowedTools: values.allowed_tools,
      options: Object.assign(
        { effort: values.effort, engine: chosenEngine(values) },
        ...extensions.map(({ options }) => options),
      ),
    },
    flags: projects.flags,
    directories: extensions.flatMap(({ directories }) => directories ?? []),
    ttl: values.session_ttl || null,
    hold: values.session_hold,
    howToJoin: async (holder) => {
      const { howToJoin } = await import("./pidfile/list.js");
      return howToJoin(holder, paths.run);
    },
    permissionTimeout: values.permission_timeout,
    coalesce: values.coalesce,
    commands: palette,
    onUnload: async (id) => {
      await Promise.all([
        turns.closeSession(id),
        engines.closeSession(id),
        ...extensions.map((extension) => extension.onUnload?.(id)),
      ]);
    },
    onSetting: ({ type, metadata }, session) => {
      log.debug(type.replaceAll("_", " "), { session, ...metadata });
      if (type === "config_changed") void engines.set(session, metadata.id, metadata.value);
    },
    onRecovered,
    onError: (error, session) => log.error("session failed", { session, error: String(error) }),
  });
  sessions.onLoad((session) => {
    const attach = () => sessions.attach(session.id, { transport: "bridge", approves: true });
    for (const extension of extensions) extension.onLoad?.(session, { acp, attach });
  });
  // Repair undos that a crash interrupted even when no client loads their session.
  const repairing = existsSync(paths.snapshots)
    ? setTimeout(() => void snapshots.load().catch(() => {}), REPAIR_MS).unref()
    : undefined;
  /** The tools that the person who started the program allows; a session may ask for fewer. */
  const permitted = async () => allowedTools(await turns.tools(), sessions.defaults.allowedTools);
  const nodes =
    shared && (await import("./join-nodes.js")).joinNodes(shared, sessions, () => options.answerAlone(core), log);
  const core: RunningCore = {
    sessions,
    shared,
    nodes,
    pathOf,
    palette,
    options: [effort.option, engines.option],
    engines,
    models: models.suggested,
    agents: async (cwd) =>
      (await agentsIn(cwd)).agents.map(({ name, description }) => ({
        id: name,
        name,
        ...(description && { description }),
      })),
    tools: turns.tools,
    // Most directories have none of these folders, and the agent's code is half of the program: load it only where one exists.
    untrusted: async (cwd) =>
      config.trust.isAnswered(cwd) || ![".opencode", ".chimera", ".claude"].some((name) => existsSync(join(cwd, name)))
        ? []
        : turns.untrusted(cwd),
    offered: async () => (await permitted()).filter(({ needs }) => needs === undefined),
    providers: () => ({ active: models.active(sessions.defaults.model), available: models.providers() }),
    knownModels: () => models.known(sessions.defaults.model),
    async close() {
      clearTimeout(repairing);
      await nodes?.leave();
      await sessions.shutdown();
      try {
        await Promise.all([turns.close(), engines.close(), policy.close(), snapshots.close()]);
      } finally {
        await store.close();
        await ephemeral.close();
      }
    },
  };
  return core;
}

// --- internal ---

async function openCodingAgent(
  { profile, env, config, trace, mcpPatienceMs }: CoreOptions,
  { confine, mcpNetwork, tools }: AgentParts,
  problems: (cwd: string) => Promise<readonly string[]>,
): Promise<CodingAgent> {
  const { paths, values, trust, under } = config;
  const isModelNamed = ["flag", "environment"].includes(settingOf(config, "model")?.layer ?? "");
  const standard = values.model ?? defaultModel(env, profile.chain);
  const packages = { rows: values.providers, directory: paths.root };
  const [{ createCodingAgent }, { createModels }] = await Promise.all([
    import("@chimera/agent/agents"),
    import("@chimera/agent/models"),
  ]);
  return createCodingAgent({
    resolveModel: createModels({ env, chain: profile.chain, packages }),
    home: paths.home,
    env,
    // The model was named for this start, or the session has changed it since.
    isNamed: (model) => isModelNamed || model !== standard,
    trust: { file: paths.trusted, isGiven: trust.isTrusted, leftOut: (cwd) => under(cwd).untrusted, how: HOW_TO_TRUST },
    problems,
    outputsDirectory: paths.outputs,
    ...(confine && { confine }),
    ...(mcpNetwork && { mcpNetwork }),
    ...(tools && { tools }),
    ...(trace && { trace }),
    ...(mcpPatienceMs && { mcpPatienceMs }),
    ...(values.mcp !== null && { mcpFile: values.mcp }),
  });
}

/** Joins the parts of all extensions: each narrows the policy that those before it made. */
async function joinAgentParts(extensions: readonly StartedExtension[]): Promise<AgentParts> {
  const parts = await Promise.all(
    extensions.map(async (extension): Promise<AgentParts> => (await extension.agent?.()) ?? {}),
  );
  const narrowing = parts.flatMap(({ narrow }) => narrow ?? []);
  return {
    ...Object.assign({}, ...parts),
    narrow: (policy) => narrowing.reduce((current, narrow) => narrow(current), policy),
  };
}

/** How long the repair of interrupted undos waits, so that it does not delay the first session. */
const REPAIR_MS = 500;
