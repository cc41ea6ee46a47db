// A program like those of the apps, which tests start as a separate process.
import { otterDialect, standardDialect } from "@chimera/acp-server";
import { anthropicFirst } from "@chimera/agent/providers";
import { createMain, serveCommands } from "@chimera/host";
import { otherCommands } from "../dist/index.js";

const profile = {
  name: "otter",
  title: "Otter",
  version: "9.9.9",
  tagline: "under test",
  defaultTransport: "http",
  permitFlag: "--mode auto",
  dialects: [otterDialect, standardDialect],
  chain: anthropicFirst,
  settings: {},
  flags: {},
  extensions: [],
};

const { name } = profile;
const main = createMain({ profile, commands: serveCommands(name), others: async () => otherCommands(name) });
await main(process);
