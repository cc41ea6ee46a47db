/** The composition root: stores, agent and sessions from flags, environment and paths. Loaded when the first session is. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionEvent } from "@chimera/acp-schema/events";
import type { Engine } from "@chimera/acp-server";
import { createAgent } from "@chimera/agent";
import { createModels, defaultModel, suggestModels } from "@chimera/agent/providers";
import { builtinTools, localWorkspace } from "@chimera/agent/tools";
import { createFileStore, createMemoryStore, type Durability } from "@chimera/event-store";
import {
  type Agent,
  createSessions,
  createSlashPalette,
  MODE_FLAGS,
  type Settings,
  type Summary,
} from "@chimera/session";
import { createSnapshotStore } from "@chimera/snapshot-store";
import type { Log } from "./log.js";
import type { Paths } from "./paths.js";
import type { Profile } from "./profile.js";

export interface EngineOptions {
  readonly profile: Profile;
  readonly env: NodeJS.ProcessEnv;
  readonly paths: Paths;
  readonly log: Log;
  readonly settings: Partial<Settings>;
  readonly durability: Durability;
  readonly coalesce: boolean;
  /** Seconds; null keeps sessions loaded. */
  readonly sessionTtl: number | null;
  readonly permissionTimeout: number;
}

export interface RunningEngine extends Engine {
  close(): Promise<void>;
}

export async function createEngine(options: EngineOptions): Promise<RunningEngine> {
  const { profile, env, paths, log } = options;
  const chain = await profile.chain();
  const store = createFileStore<SessionEvent, Summary>({
    root: paths.root,
    durability: options.durability,
    onDamage: (session, { where, reason }) => log.warn("damaged record skipped", { session, where, reason }),
  });
  const ephemeral = createMemoryStore<SessionEvent, Summary>();
  const snapshots = createSnapshotStore({ root: paths.snapshots });
  const model = options.settings.model || defaultModel(env, chain);
  const defaults: Settings = {
    agent: "build",
    ...MODE_FLAGS.review,
    maxSteps: 50,
    maxCostUsd: null,
    allowedTools: null,
    options: {},
    ...options.settings,
    model,
  };
  const agent: Agent = createAgent({
    resolveModel: createModels({ env, chain }),
    tools: builtinTools(),
    spill: (turn, name, text) => keepAside(paths.outputs, turn.sessionId, name, text),
  });
  const palette = createSlashPalette({ home: paths.home });
  const disk = localWorkspace("/");
  const sessions = createSessions({
    agent,
    store,
    ephemeral,
    snapshots,
    disk,
    prefix: profile.name,
    defaults,
    ttl: options.sessionTtl,
    permissionTimeout: options.permissionTimeout,
    coalesce: options.coalesce,
    commands: palette,
    onError: (error, session) => log.error("session failed", { session, error: String(error) }),
  });
  return {
    sessions,
    palette,
    models: () => suggestModels(env, chain).map((id) => ({ id, name: id })),
    agents: () => ["build", "plan", "explore", "review", "general"].map((id) => ({ id, name: id })),
    async close() {
      await sessions.shutdown();
      await store.close();
      await ephemeral.close();
    },
  };
}

// --- internal ---

/** Output too long for the model is kept whole in a file of its own. */
async function keepAside(folder: string, sessionId: string, name: string, text: string): Promise<string> {
  const directory = join(folder, sessionId);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${name.replace(/[^\w.-]/g, "_")}.txt`);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
