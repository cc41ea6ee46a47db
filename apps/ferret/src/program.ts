import { createMain, type Program, serveCommands } from "@chimera/host";
import { bridgeCommand, profile } from "./profile.js";

const { name } = profile;

export const program: Program = {
  profile,
  commands: [...serveCommands(name), bridgeCommand(name)],
  others: async () => (await import("@chimera/cli")).otherCommands(name),
};

export const main = createMain(program);
