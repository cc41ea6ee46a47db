/** `@chimera/cli`: what a person types. Rows of commands; the code behind each is loaded when it runs. */
export { cliCommands } from "./rows/commands.js";
export { conversationCommand } from "./rows/conversation.js";
