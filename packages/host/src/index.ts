/** `@chimera/host`: from a profile to a process. */
export type { Command, Flag, Flags, FlagValues, Invocation, Run } from "./command/command.js";
export { isUsageError, UsageError } from "./command/usage-error.js";
export { createMain, type MainOptions } from "./main.js";
export { envName, type Profile } from "./profile.js";
export { serveCommands } from "./serve/command.js";
