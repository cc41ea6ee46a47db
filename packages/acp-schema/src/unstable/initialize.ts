/** The handshake with unstable capabilities. */
import {
  InitializeRequest as StableInitializeRequest,
  InitializeResponse as StableInitializeResponse,
} from "../acp/initialize.js";
import { defaulted, object } from "../define/shape.js";
import { AgentCapabilities, ClientCapabilities } from "./capability.js";

export const InitializeRequest = object(() => ({
  ...StableInitializeRequest.entries,
  clientCapabilities: defaulted(ClientCapabilities, () => ({})),
}));

export const InitializeResponse = object(() => ({
  ...StableInitializeResponse.entries,
  agentCapabilities: defaulted(AgentCapabilities, () => ({})),
}));
