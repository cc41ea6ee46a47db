/** `@chimera/session/commands`: custom slash commands from Markdown files. */
export type { CommandArg, CustomCommand } from "./command.js";
export { discoverCommands } from "./discover.js";
export { parseCommand } from "./parse.js";
export { type CommandArguments, renderCommand, splitArguments } from "./render.js";
