/** The handshake. */
import * as v from "valibot";
import { defaulted, items, maybe, object } from "../define/shape.js";
import { AuthMethod } from "./auth.js";
import { AgentCapabilities, ClientCapabilities } from "./capability.js";

/** The version of the protocol that these schemas describe. */
export const PROTOCOL_VERSION = 1;

export const ProtocolVersion = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff));
export type ProtocolVersion = v.InferOutput<typeof ProtocolVersion>;

export const Implementation = object(() => ({
  name: v.string(),
  title: maybe(v.string()),
  version: v.string(),
}));
export type Implementation = v.InferOutput<typeof Implementation>;

export const InitializeRequest = object(() => ({
  protocolVersion: ProtocolVersion,
  clientCapabilities: defaulted(ClientCapabilities, () => ({})),
  clientInfo: maybe(Implementation),
}));

export const InitializeResponse = object(() => ({
  protocolVersion: ProtocolVersion,
  agentCapabilities: defaulted(AgentCapabilities, () => ({})),
  authMethods: defaulted(items(AuthMethod), () => []),
  agentInfo: maybe(Implementation),
}));
export type InitializeResponse = v.InferOutput<typeof InitializeResponse>;
