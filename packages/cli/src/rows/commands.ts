/** Every command a person types, besides those of the server. */
import type { Command } from "@chimera/host";
import { attachCommand, chatCommand } from "./conversation.js";
import { reportCommands } from "./reports.js";
import { rewindCommands } from "./rewind.js";
import { sessionsCommand } from "./sessions.js";
import { setupCommands } from "./setup.js";

export function cliCommands(name: string): Command[] {
  return [
    chatCommand(name),
    attachCommand(name),
    sessionsCommand(name),
    ...reportCommands(name),
    ...rewindCommands(name),
    ...setupCommands(name),
  ];
}
