/** Opens a core in this process from flags, the environment and the config files. The core's code is loaded on first use. */
import { statSync } from "node:fs";
import { orElse } from "@chimera/acp-schema/lenient";
import { UsageError } from "./command/usage-error.js";
import type { CoreOptions, RunningCore } from "./compose.js";
import { CONFIG_KEYS } from "./config/keys.js";
import { type Config, type ConfigSource, readConfig, readNamedFile } from "./config/read-config.js";
import { settingOf } from "./config/resolve.js";
import { hideSecrets } from "./hide-secrets.js";
import type { Log } from "./log/log.js";
import { type OpenedLog, openLog } from "./log/log-file.js";
import { noteOtherStore, requireWritable } from "./paths.js";
import type { ExtensionContext, StartedExtension } from "./profile.js";
import type { AppAbout } from "./serve/load-app.js";

/** Defaults of commands that a person waits for: log only warnings and errors, and keep the session loaded while the person thinks. */
const IN_PROCESS = { log_level: "warn", session_ttl: 0, session_hold: 0 } as const;

export interface OpenCore {
  readonly core: RunningCore;
  readonly config: Config;
  readonly log: OpenedLog;
}

/**
 * The caller closes `core`. Closing ends turns, records their ends and ends every child process.
 *
 * @param more progress for the person who waits, and how long a turn waits for MCP servers.
 */
export async function openCore(
  source: ConfigSource,
  more: Pick<CoreOptions, "onIndexing" | "mcpPatienceMs"> = {},
): Promise<OpenCore> {
  hideSecrets(source);
  const config = readConfig(source, IN_PROCESS);
  await requireNamed(config);
  const log = openLog(source, config.values);
  warnOf(source, config.problems, log);
  const extensions = startExtensions(source, config, log);
  // Loaded here, so that a program which only prints its version does not load it.
  const { createCore } = await import("./compose.js");
  const { profile, process } = source;
  const answerAlone = answersOf({ profile, extensions, cwd: config.cwd, log });
  const core = await createCore({ profile, env: process.env, config, extensions, log, answerAlone, ...more });
  return { core, config, log };
}

/** Reports problems of the configuration: on a terminal a sentence each, otherwise as warnings in the log. */
export function warnOf({ profile, process }: ConfigSource, problems: readonly string[], log: Log): void {
  for (const problem of problems)
    if (process.stderr.isTTY) process.stderr.write(`[${profile.name}] ${problem}\n`);
    else log.warn(problem);
}

/** The extensions of a program, in the order of its profile. */
export function startExtensions(
  { profile, flags, process }: ConfigSource,
  config: Config,
  log: Log,
): readonly StartedExtension[] {
  const { values, under, cwd, paths } = config;
  const context: ExtensionContext = { flags, values, under, cwd, paths, env: process.env, log };
  const started = profile.extensions.map((extension) => extension.start(context));
  for (const warning of started.flatMap((extension) => extension.warnings ?? [])) {
    process.stderr.write(`[${profile.name}] ${warning}\n`);
  }
  return started;
}

/** Answers HTTP requests of other nodes in a process without an HTTP server. The first request loads the code. */
export function answersOf(about: AppAbout): CoreOptions["answerAlone"] {
  return async (core) => (await import("./serve/load-app.js")).answerRequests(core, about);
}

/** Checks that named agents, tools, files and directories exist, so that a mistake is reported before anything starts. */
export async function requireNamed(config: Config): Promise<void> {
  const { agent, allowed_tools, mcp, workspace_root, engine } = config.values;
  const missing = workspace_root.find((root) => !statSync(root, { throwIfNoEntry: false })?.isDirectory());
  if (missing !== undefined) throw new UsageError(`--workspace-root: there is no directory ${missing}`);
  if (mcp !== null) requireJson(settingOf(config, "mcp")?.from ?? "mcp", mcp);
  const isDefault = agent === CONFIG_KEYS.agent.default && engine === CONFIG_KEYS.engine.default;
  if (isDefault && allowed_tools === null) return;
  const { requireNames } = await import("./require-names.js");
  await requireNames(config);
}

/** Checks that the data directory is writable when sessions are kept in it, so that the error comes before anything starts. */
export function requireHome({ paths, values }: Pick<Config, "paths" | "values">): void {
  if (!values.save) return;
  if (values.store === null) requireWritable(paths.root);
  // If the data directory is not writable, no snapshots are kept for the sessions of that other store.
  else if (paths.isStoreElsewhere) orElse(() => noteOtherStore(paths), undefined);
}

// --- internal ---

function requireJson(source: string, path: string): void {
  // A pipe can be read only once, and the agent reads it. If `stat` fails, so does the read below, with its reason.
  if (orElse(() => statSync(path).isFIFO(), false)) return;
  const text = readNamedFile(source, path);
  try {
    JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${source}: ${path} is not JSON: ${(error as Error).message.split("\n", 1)[0]}`);
  }
}
