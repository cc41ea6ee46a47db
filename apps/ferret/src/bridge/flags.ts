/** How a remote console is named. The token is in no file: the environment or the command line only. */
import type { Flags } from "@chimera/host";

export const TOKEN_VARIABLE = "FERRET_BRIDGE_TOKEN";

export const bridgeFlags: Flags = {
  bridge: { type: "boolean", help: "Offer the sessions to a remote console; needs --remote-url" },
  "remote-url": { type: "string", value: "<url>", help: "The remote console of the bridge" },
  "bridge-token": {
    type: "string",
    value: "<token>",
    help: `Its token (better: ${TOKEN_VARIABLE} in the environment)`,
  },
  insecure: { type: "boolean", help: "Let the bridge's token travel without TLS" },
};
