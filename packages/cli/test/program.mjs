// A program as the apps make one, for tests to start as a process of its own.
import { createMain, serveCommands } from "@chimera/host";
import { conversationCommand } from "../dist/index.js";

const profile = {
  name: "otter",
  title: "Otter",
  version: "9.9.9",
  tagline: "under test",
  defaultTransport: "http",
  native: { name: "otter", version: "0.1" },
  chain: async () => (await import("@chimera/agent/providers")).anthropicFirst,
  extensions: async () => [],
};

await createMain(profile, serveCommands(profile.name), { fallback: conversationCommand(profile.name) })(process);
