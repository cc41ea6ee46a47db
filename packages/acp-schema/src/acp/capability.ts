/** What each side says it can do. A marker is an object, `{}` for yes; absent or null means no. */
import * as v from "valibot";
import { defaulted, json, maybe, object } from "../define/shape.js";

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
