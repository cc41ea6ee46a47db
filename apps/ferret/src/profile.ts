import { ferretDialect, otterDialect, standardDialect } from "@chimera/acp-server";
import { openaiFirst } from "@chimera/agent/providers";
import { type Command, type Profile, SESSION_FLAGS } from "@chimera/host";
import { about } from "./about.js";
import { extensions } from "./extensions.js";
import { flags, settings } from "./settings.js";

/** ferret: for editors. ACP by default, HTTP on request; sandboxed, with approval presets. */
export const profile: Profile = {
  ...about,
  title: "Ferret",
  tagline: "a sandboxed coding agent for your editor",
  defaultTransport: "acp",
  dialects: [ferretDialect, standardDialect, otterDialect],
  chain: openaiFirst,
  settings,
  flags,
  page: async () => (await import("@chimera/web-page")).readPage(),
  extensions,
};

export function bridgeCommand(name: string): Command {
  return {
    name: "bridge",
    summary: "Let a remote console drive a session here",
    operands: "[session]",
    maxOperands: 1,
    flags: SESSION_FLAGS,
    startsSessions: true,
    example: `${name} bridge --remote-url https://console.example`,
    load: async () => (await import("./bridge-command.js")).runBridge,
  };
}
