/** `@chimera/host`: from a profile to a process. */
export type { Command, Flag, Flags, FlagValues, Invocation, Run } from "./command/command.js";
export { isUsageError, UsageError } from "./command/usage-error.js";
export { createEngine, type EngineOptions, type RunningEngine } from "./engine.js";
export { createLog } from "./log.js";
export { createMain, type MainOptions } from "./main.js";
export { type Paths, resolvePaths } from "./paths.js";
export { envName, type Profile } from "./profile.js";
export { serveCommands } from "./serve/command.js";
