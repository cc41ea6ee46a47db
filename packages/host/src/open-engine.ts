/** An engine in this process, from what was typed, the environment and the config files: for commands that run sessions. */
import { type Config, type ConfigSource, readConfig } from "./config/read-config.js";
import type { RunningEngine } from "./engine.js";
import type { Log } from "./log/log.js";
import { openLog } from "./log/open-log.js";
import { requireNamed } from "./require-named.js";
import { startExtensions } from "./start-extensions.js";

/** A person is waiting: only trouble is logged, and the session stays however long they think. */
const IN_PROCESS = { log_level: "warn", session_ttl: 0 } as const;

export interface OpenEngine {
  readonly engine: RunningEngine;
  readonly config: Config;
  readonly log: Log;
}

/** The caller closes `engine`, which ends turns, writes their ends down and leaves no child behind. */
export async function openEngine(source: ConfigSource): Promise<OpenEngine> {
  const config = readConfig(source, IN_PROCESS);
  await requireNamed(config);
  const log = openLog(source, config.values);
  for (const problem of config.problems) log.warn(problem);
  const extensions = await startExtensions(source, config, log);
  // Loaded here, so that a program which only says its version does not carry it.
  const { createEngine } = await import("./engine.js");
  const { profile, process } = source;
  const engine = await createEngine({ profile, env: process.env, config, extensions, log });
  return { engine, config, log };
}
