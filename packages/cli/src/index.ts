/** `@chimera/cli`: the commands that a person types, as rows. The code of a command is loaded when it runs. */
import type { Program } from "@chimera/host";
import { attachCommand, chatCommand, conversationCommand } from "./rows/conversation.js";
import { reportCommands } from "./rows/reports.js";
import { rewindCommands, sessionsCommand, storeCommand } from "./rows/sessions.js";
import { setupCommands } from "./rows/setup.js";

/** All commands except those of the server. The conversation is the fallback, because it needs no name. */
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
