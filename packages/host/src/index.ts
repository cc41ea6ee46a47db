/** `@chimera/host`: from a profile to a process. */
export { actionsOf, type Command, type Invocation, type Program, type RunCommand } from "./command/command.js";
export type { Flag, Flags, FlagValues } from "./command/flag.js";
export { completeCommands } from "./command/help.js";
export { isUsageError, nearest, UsageError } from "./command/usage-error.js";
export type { RunningCore } from "./compose.js";
export { configFlags } from "./config/flags.js";
export { CONFIG_KEYS, type ConfigKey, type ConfigName, type ConfigValues } from "./config/keys.js";
export type { Kind } from "./config/kind.js";
export { type Config, type ConfigSource, readConfig } from "./config/read-config.js";
export {
  type ConfigLayer,
  type ConfigLayers,
  type ResolvedConfig,
  resolveConfig,
  type Setting,
  settingOf,
  variableOf,
} from "./config/resolve.js";
export { HostError, type HostErrorCode, isHostError } from "./errors.js";
export { createLog, type Log, type LogLevel, type LogOptions, type LogSink } from "./log/log.js";
export { createLogFile, type LogFile, type LogFileOptions } from "./log/log-file.js";
export { createMain } from "./main.js";
export { type OpenCore, openCore, requireHome } from "./open-core.js";
export { isDatabase, isOnlyStore, type Paths, requireWritable, resolvePaths } from "./paths.js";
export {
  type AcpPeer,
  type AgentParts,
  type ExtensionContext,
  envName,
  type Profile,
  type ProgramExtension,
  type ServingProgram,
  type StartedExtension,
} from "./profile.js";
export { SESSION_FLAGS, serveCommands } from "./serve/command.js";
export { readClientToken } from "./serve/http-access.js";
export { untilEnd } from "./serve/until-end.js";
