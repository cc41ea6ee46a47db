import { createMain, type Program, serveCommands } from "@chimera/host";
import { profile } from "./profile.js";

const { name } = profile;

export const program: Program = {
  profile,
  commands: [...serveCommands(name)],
  others: async () => (await import("@chimera/cli")).otherCommands(name),
};

export const main = createMain(program);
