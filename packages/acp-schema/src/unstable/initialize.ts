/** The handshake with unstable capabilities. */
import type * as v from "valibot";
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
export type InitializeRequest = v.InferOutput<typeof InitializeRequest>;

export const InitializeResponse = object(() => ({
  ...StableInitializeResponse.entries,
  agentCapabilities: defaulted(AgentCapabilities, () => ({})),
}));
export type InitializeResponse = v.InferOutput<typeof InitializeResponse>;
