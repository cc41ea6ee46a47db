import { ferretDialect, otterDialect, standardDialect } from "@chimera/acp-server";
import { anthropicFirst } from "@chimera/agent/providers";
import type { Profile } from "@chimera/host";
import { about } from "./about.js";

/** otter: HTTP by default, ACP on request. */
export const profile: Profile = {
  ...about,
  title: "Otter",
  tagline: "a coding agent you drive over HTTP or from an editor",
  defaultTransport: "http",
  permitFlag: "--mode auto",
  dialects: [otterDialect, standardDialect, ferretDialect],
  chain: anthropicFirst,
  settings: {},
  flags: {},
  page: async () => (await import("@chimera/web-page")).readPage(),
  extensions: [],
};
