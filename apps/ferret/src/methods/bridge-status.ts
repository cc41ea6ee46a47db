/** `session/bridgeStatus`: whether a remote console is attached to the session, and where. */
import { agentMethods, type BridgeStatusRequest, type BridgeStatusResponse } from "@chimera/acp-schema/ferret";
import type { Methods } from "@chimera/ndjson-rpc";
import type { Bridges } from "../bridge/bridges.js";

export function bridgeStatus(bridges: Bridges | null): Methods {
  const handle = ({ sessionId }: BridgeStatusRequest): BridgeStatusResponse =>
    bridges?.status(sessionId) ?? { attached: false };
  return { "session/bridgeStatus": { params: agentMethods["session/bridgeStatus"].params, handle } as Methods[string] };
}
