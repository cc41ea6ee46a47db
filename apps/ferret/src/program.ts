import { cliCommands, conversationCommand } from "@chimera/cli";
import { createMain, type Program, serveCommands } from "@chimera/host";
import { bridgeCommand, profile } from "./profile.js";

const { name } = profile;

export const program: Program = {
  profile,
  commands: [...serveCommands(name), bridgeCommand(name), ...cliCommands(name)],
  fallback: conversationCommand(name),
};

export const main = createMain(program);
