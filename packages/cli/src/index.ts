/** `@chimera/cli`: what a person types. Rows of commands; the code of each is loaded when it runs. */
import type { Program } from "@chimera/host";
import { attachCommand, chatCommand, conversationCommand } from "./rows/conversation.js";
import { reportCommands } from "./rows/reports.js";
import { rewindCommands, sessionsCommand, storeCommand } from "./rows/sessions.js";
import { setupCommands } from "./rows/setup.js";

/** Every command besides those of the server, and the conversation, which needs no name. */
export function otherCommands(name: string): Pick<Program, "commands" | "fallback"> {
  const commands = [
    chatCommand(name),
    attachCommand(name),
    sessionsCommand(name),
    storeCommand(name),
    ...reportCommands(name),
    ...rewindCommands(name),
    ...setupCommands(name),
  ];
  return { commands, fallback: conversationCommand(name) };
}
