/** Every command a person types, besides those of the server. */
import type { Command } from "@chimera/host";
import { attachCommand, conversationCommand } from "./conversation.js";
import { loaded } from "./loaded.js";
import { reportCommands } from "./reports.js";
import { rewindCommands } from "./rewind.js";
import { sessionsCommand } from "./sessions.js";
import { setupCommands } from "./setup.js";

/** @param others the program's further commands, for the shell completions to know. */
export function cliCommands(name: string, others: readonly Command[] = []): Command[] {
  const commands = [
    attachCommand(name),
    sessionsCommand(name),
    ...reportCommands(name),
    ...rewindCommands(name),
    ...setupCommands(name),
  ];
  const completions: Command = {
    name: "completions",
    summary: "Print a completion script for your shell",
    operands: "[bash | zsh | fish]",
    maxOperands: 1,
    flags: {},
    example: `${name} completions bash > ~/.local/share/bash-completion/completions/${name}`,
    load: loaded("completions", async () => {
      const all = [...others, ...commands, completions, conversationCommand(name)];
      return (await import("../setup/completions.js")).completions(all);
    }),
  };
  return [...commands, completions];
}
