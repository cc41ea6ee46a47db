/** The handshake: the capabilities of each side, and logging in. */
import * as v from "valibot";
import { defaulted, items, json, list, maybe, nullAs, object, record, tagged } from "../define/shape.js";
import { AuthMethodId } from "./id.js";

// The capabilities of each side. A marker is an object, `{}` for yes; absent or null means no.

const flag = () => defaulted(v.boolean(), () => false);

export const PromptCapabilities = object(() => ({ image: flag(), audio: flag(), embeddedContext: flag() }));
export const McpCapabilities = object(() => ({ http: flag(), sse: flag() }));
export const SessionListCapabilities = object(() => ({}));
export const SessionDeleteCapabilities = object(() => ({}));
export const SessionAdditionalDirectoriesCapabilities = object(() => ({}));
export const SessionResumeCapabilities = object(() => ({}));
export const SessionCloseCapabilities = object(() => ({}));
export const LogoutCapabilities = object(() => ({}));

export const SessionCapabilities = object(() => ({
  list: maybe(SessionListCapabilities),
  delete: maybe(SessionDeleteCapabilities),
  additionalDirectories: maybe(SessionAdditionalDirectoriesCapabilities),
  resume: maybe(SessionResumeCapabilities),
  close: maybe(SessionCloseCapabilities),
}));

export const AgentAuthCapabilities = object(() => ({ logout: maybe(LogoutCapabilities) }));

export const AgentCapabilities = object(() => ({
  loadSession: flag(),
  promptCapabilities: defaulted(PromptCapabilities, () => ({})),
  mcpCapabilities: defaulted(McpCapabilities, () => ({})),
  sessionCapabilities: defaulted(SessionCapabilities, () => ({})),
  auth: defaulted(AgentAuthCapabilities, () => ({})),
}));
export type AgentCapabilities = v.InferOutput<typeof AgentCapabilities>;

export const FileSystemCapabilities = object(() => ({ readTextFile: flag(), writeTextFile: flag() }));
export const BooleanConfigOptionCapabilities = object(() => ({}));
export const CompactionCapabilities = json();
export const NoticeCapabilities = json();
export const SessionConfigOptionsCapabilities = object(() => ({ boolean: maybe(BooleanConfigOptionCapabilities) }));

export const ClientSessionCapabilities = object(() => ({
  compaction: maybe(CompactionCapabilities),
  configOptions: maybe(SessionConfigOptionsCapabilities),
  notices: maybe(NoticeCapabilities),
}));

export const AuthCapabilities = object(() => ({ terminal: flag() }));
export const ElicitationFormCapabilities = object(() => ({}));
export const ElicitationUrlCapabilities = object(() => ({}));

export const ElicitationCapabilities = object(() => ({
  form: maybe(ElicitationFormCapabilities),
  url: maybe(ElicitationUrlCapabilities),
}));

export const ClientCapabilities = object(() => ({
  fs: defaulted(FileSystemCapabilities, () => ({})),
  terminal: flag(),
  session: maybe(ClientSessionCapabilities),
  auth: defaulted(AuthCapabilities, () => ({})),
  elicitation: maybe(ElicitationCapabilities),
}));
export type ClientCapabilities = v.InferOutput<typeof ClientCapabilities>;

// Logging in and out.

export const AuthMethodAgent = object(() => ({
  id: AuthMethodId,
  name: v.string(),
  description: maybe(v.string()),
}));
export type AuthMethodAgent = v.InferOutput<typeof AuthMethodAgent>;

/** Logs in by running the agent's own command in a terminal with these arguments. Only for clients with `auth.terminal`. */
export const AuthMethodTerminal = object(() => ({
  id: AuthMethodId,
  name: v.string(),
  description: maybe(v.string()),
  args: v.optional(list(v.string())),
  env: v.optional(nullAs(record(v.string()), () => ({}))),
}));
export type AuthMethodTerminal = v.InferOutput<typeof AuthMethodTerminal>;

export const AuthMethod = v.union([tagged("type", "terminal", AuthMethodTerminal), AuthMethodAgent]);
export type AuthMethod = v.InferOutput<typeof AuthMethod>;

export const AuthenticateRequest = object(() => ({ methodId: AuthMethodId }));
export const AuthenticateResponse = object(() => ({}));
export const LogoutRequest = object(() => ({}));
export const LogoutResponse = object(() => ({}));

// The handshake.

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
