/** `@chimera/cli`: what a person types. Rows of commands; the code of each is loaded when it runs. */
import type { Command } from "@chimera/host";
import { attachCommand, chatCommand } from "./rows/conversation.js";
import { reportCommands } from "./rows/reports.js";
import { rewindCommands, sessionsCommand, storeCommand } from "./rows/sessions.js";
import { setupCommands } from "./rows/setup.js";

export { conversationCommand } from "./rows/conversation.js";

/** Every command besides those of the server. */
export function cliCommands(name: string): Command[] {
  return [
    chatCommand(name),
    attachCommand(name),
    sessionsCommand(name),
    storeCommand(name),
    ...reportCommands(name),
    ...rewindCommands(name),
    ...setupCommands(name),
  ];
}
