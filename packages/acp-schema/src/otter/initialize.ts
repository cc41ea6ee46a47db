/** The handshake of the native dialect. */
import * as v from "valibot";
import { plain } from "../define/shape.js";

/** The revision that has event ids and `session/resume`; what a client that asks for it is answered. */
export const OTTER_ACP_PROTOCOL_VERSION = 2;

/** What a client that asks for no revision is answered. */
export const OTTER_PROTOCOL_VERSION = "0.1";

/** Updates kept for `session/resume`, per session. */
export const OTTER_ACP_DEFAULT_HISTORY_SIZE = 1024;

/** Any version is taken; it decides only how the answer names its own. */
export const InitializeRequest = plain(() => ({ protocolVersion: v.optional(v.unknown()) }));

export const ServerInfo = plain(() => ({ name: v.string(), version: v.string() }));
export type ServerInfo = v.InferOutput<typeof ServerInfo>;

export const Capabilities = plain(() => ({
  sessionFork: v.boolean(),
  sessionList: v.boolean(),
  permissionRequest: v.boolean(),
  thinking: v.boolean(),
  vision: v.boolean(),
}));

export const AgentCapabilities = plain(() => ({
  promptCapabilities: plain(() => ({ text: v.boolean() })),
  sessionCapabilities: plain(() => ({ cancel: v.boolean(), resume: v.boolean() })),
  toolApproval: v.boolean(),
  eventIds: v.boolean(),
}));

/** The answer carries both capability blocks, so that a client of either description finds its own. */
export const InitializeResponse = plain(() => ({
  protocolVersion: v.union([v.pipe(v.string(), v.regex(/^0\.\d+$/)), v.literal(OTTER_ACP_PROTOCOL_VERSION)]),
  serverInfo: ServerInfo,
  agentInfo: ServerInfo,
  capabilities: Capabilities,
  agentCapabilities: AgentCapabilities,
}));
