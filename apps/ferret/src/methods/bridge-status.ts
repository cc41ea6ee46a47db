/** `session/bridgeStatus`: whether a remote console is attached to the session, and where. */
import { agentMethods, type BridgeStatusResponse } from "@chimera/acp-schema/ferret";
import { rowsOf } from "@chimera/acp-server";
import type { Methods } from "@chimera/ndjson-rpc";
import type { Bridges } from "../bridge/bridges.js";

export function bridgeStatus(bridges: Bridges | null): Methods {
  return rowsOf(agentMethods, {
    "session/bridgeStatus": ({ sessionId }): BridgeStatusResponse => bridges?.status(sessionId) ?? { attached: false },
  });
}
