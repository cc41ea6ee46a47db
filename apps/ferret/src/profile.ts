import { openaiFirst } from "@chimera/agent/providers";
import type { Profile } from "@chimera/host";
import { about } from "./about.js";
import { bridgeFlags } from "./bridge/flags.js";
import { settings } from "./settings.js";
import { shorthandFlags } from "./shorthand.js";

/** ferret: for editors. ACP by default, HTTP on request; sandboxed, with approval presets. */
export const profile: Profile = {
  ...about,
  title: "Ferret",
  tagline: "a sandboxed coding agent for your editor",
  defaultTransport: "acp",
  native: { name: "ferret", version: "0.2" },
  chain: openaiFirst,
  settings,
  flags: {
    ...shorthandFlags,
    ...bridgeFlags,
    "add-dir": {
      type: "string",
      multiple: true,
      value: "<dir>",
      help: "A further directory of the workspace (repeatable)",
    },
  },
  extensions: async () => (await import("./extensions.js")).extensions,
};
