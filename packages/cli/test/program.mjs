// A program as the apps make one, for tests to start as a process of its own.
import { anthropicFirst } from "@chimera/agent/providers";
import { createMain, serveCommands } from "@chimera/host";
import { cliCommands, conversationCommand } from "../dist/index.js";

const profile = {
  name: "otter",
  title: "Otter",
  version: "9.9.9",
  tagline: "under test",
  defaultTransport: "http",
  native: { name: "otter", version: "0.1" },
  chain: anthropicFirst,
  settings: {},
  flags: {},
  extensions: async () => [],
};

const { name } = profile;
const main = createMain({
  profile,
  commands: [...serveCommands(name), ...cliCommands(name)],
  fallback: conversationCommand(name),
});
await main(process);
