/** The composition root: stores, agent and sessions from flags, environment and paths. Loaded when the first session is. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Engine } from "@chimera/acp-server";
import { createCodingAgent } from "@chimera/agent/agents";
import {
  type Chain,
  createModels,
  defaultModel,
  listProviders,
  resolveModel,
  suggestModels,
} from "@chimera/agent/providers";
import { localWorkspace } from "@chimera/agent/tools";
import { createFileStore, createMemoryStore } from "@chimera/event-store";
import { createSessions, createSlashPalette, MODE_FLAGS, type Settings, type Summary } from "@chimera/session";
import { createSnapshotStore } from "@chimera/snapshot-store";
import type { ConfigValues } from "./config/keys.js";
import type { Config } from "./config/read-config.js";
import type { StartedExtension } from "./extension.js";
import type { Log } from "./log/log.js";
import type { Profile } from "./profile.js";
import { programCommands } from "./program-commands.js";
import { createProjectRules } from "./project-rules.js";
import { joinAgentParts } from "./start-extensions.js";

export interface EngineOptions {
  readonly profile: Profile;
  readonly env: NodeJS.ProcessEnv;
  readonly config: Config;
  readonly extensions: readonly StartedExtension[];
  readonly log: Log;
}

export interface RunningEngine extends Engine {
  /** What `GET /tools` and `GET /providers` say. */
  tools(): { name: string; description: string; input_schema: Record<string, unknown> }[];
  providers(): {
    active: { provider: string; model: string };
    available: { name: string; configured: boolean }[];
  };
  close(): Promise<void>;
}

export async function createEngine(options: EngineOptions): Promise<RunningEngine> {
  const { profile, env, config, extensions, log } = options;
  const { paths, values } = config;
  const projects = createProjectRules(config, log);
  const chain = await profile.chain();
  const store = createFileStore<SessionEvent, Summary>({
    root: paths.root,
    durability: values.durability,
    onDamage: (session, { where, reason }) => log.warn("damaged record skipped", { session, where, reason }),
  });
  const ephemeral = createMemoryStore<SessionEvent, Summary>();
  const snapshots = createSnapshotStore({ root: paths.snapshots });
  const coding = createCodingAgent({
    resolveModel: createModels({ env, chain }),
    home: paths.home,
    env,
    permissionsFile: paths.permissions,
    rememberedDirectory: paths.remembered,
    auditDirectory: paths.audit,
    spill: (turn, name, text) => keepAside(paths.outputs, turn.sessionId, name, text),
    ...(await joinAgentParts(extensions)),
    ...(values.mcp !== null && { mcpFile: values.mcp }),
  });
  const palette = createSlashPalette({
    home: paths.home,
    commands: [
      ...programCommands({ tools: coding.tools, permissionsFile: paths.permissions }),
      ...extensions.flatMap(({ commands }) => commands ?? []),
    ],
  });
  const acp = async () => {
    const { acpServer } = await import("./serve/acp.js");
    const { cwd, values } = config;
    const historyLimit = values.acp_history;
    return acpServer({ profile, engine: async () => engine, extensions, cwd, forced: null, historyLimit, log });
  };
  const sessions = createSessions({
    agent: projects.narrow(coding.agent),
    store,
    ephemeral,
    snapshots,
    disk: localWorkspace(paths.home),
    prefix: profile.name,
    defaults: {
      ...defaultSettings(values, defaultModel(env, chain)),
      options: Object.assign({}, ...extensions.map(({ options }) => options)),
    },
    directories: extensions.flatMap(({ directories }) => directories ?? []),
    ttl: values.session_ttl || null,
    permissionTimeout: values.permission_timeout,
    coalesce: values.coalesce,
    commands: palette,
    onLoad: (session) => {
      for (const extension of extensions) extension.onLoad?.(session, { acp });
    },
    onUnload: async (id) => {
      await Promise.all([coding.closeSession(id), ...extensions.map((extension) => extension.onUnload?.(id))]);
    },
    onError: (error, session) => log.error("session failed", { session, error: String(error) }),
  });
  for (const { sessionId, result, message } of await snapshots.recover()) {
    log.warn("an interrupted undo was settled", { session: sessionId, result, message });
  }
  const engine: RunningEngine = {
    sessions: { ...sessions, create: async (asked) => sessions.create(await projects.settle(asked)) },
    palette,
    models: () => suggestModels(env, chain).map((id) => ({ id, name: id })),
    agents: async (cwd) =>
      (await coding.agents(cwd)).map(({ name, description }) => ({
        id: name,
        name,
        ...(description && { description }),
      })),
    tools: () =>
      coding.tools.map(({ name, description, inputSchema }) => ({
        name,
        description,
        input_schema: { ...inputSchema },
      })),
    providers: () => ({ active: activeProvider(sessions.defaults.model, env, chain), available: listProviders(env) }),
    async close() {
      await sessions.shutdown();
      await coding.close();
      await store.close();
      await ephemeral.close();
    },
  };
  return engine;
}

// --- internal ---

function activeProvider(model: string, env: NodeJS.ProcessEnv, chain: Chain) {
  try {
    return { provider: resolveModel(model, env, chain).provider as string, model };
  } catch {
    // A model whose key is missing is named all the same: the first prompt says what is wrong.
    return { provider: "", model };
  }
}

function defaultSettings(values: ConfigValues, fallbackModel: string): Omit<Settings, "options"> {
  return {
    agent: "build",
    ...MODE_FLAGS.review,
    model: values.model ?? fallbackModel,
    maxSteps: values.max_steps,
    maxCostUsd: values.max_cost,
    allowedTools: values.allowed_tools,
  };
}

/** Output too long for the model is kept whole in a file of its own. */
async function keepAside(folder: string, sessionId: string, name: string, text: string): Promise<string> {
  const directory = join(folder, sessionId);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${name.replace(/[^\w.-]/g, "_")}.txt`);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
