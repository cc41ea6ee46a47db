import type { Profile } from "@chimera/host";
import manifest from "../package.json" with { type: "json" };

/** ferret: for editors. ACP by default, HTTP on request. */
export const profile: Profile = {
  name: "ferret",
  title: "Ferret",
  version: manifest.version,
  tagline: "a sandboxed coding agent for your editor",
  defaultTransport: "acp",
  native: { name: "ferret", version: "0.2" },
  chain: async () => (await import("@chimera/agent/providers")).openaiFirst,
  settings: {},
  flags: {},
  extensions: async () => [],
};
