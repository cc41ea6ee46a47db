/** Capabilities with their unstable markers. */
import * as v from "valibot";
import {
  AgentAuthCapabilities as StableAgentAuthCapabilities,
  AgentCapabilities as StableAgentCapabilities,
  ClientCapabilities as StableClientCapabilities,
  McpCapabilities as StableMcpCapabilities,
  SessionCapabilities as StableSessionCapabilities,
} from "../acp/capability.js";
import { defaulted, maybe, object } from "../define/shape.js";

export const SessionSystemPromptOverrideCapabilities = object(() => ({}));

export const SessionSystemPromptModeCapabilities = object(() => ({
  override: maybe(SessionSystemPromptOverrideCapabilities),
}));

export const SessionSystemPromptCapabilities = object(() => ({ mode: maybe(SessionSystemPromptModeCapabilities) }));
export const SessionForkCapabilities = object(() => ({}));
export const SessionArchiveCapabilities = object(() => ({}));
export const SessionStatusCapabilities = object(() => ({}));
export const SessionTitleCapabilities = object(() => ({}));
export const AuthStatusCapabilities = object(() => ({}));
export const ProvidersCapabilities = object(() => ({}));
export const SubagentCapabilities = object(() => ({}));
export const PlanCapabilities = object(() => ({}));

export const McpCapabilities = object(() => ({
  ...StableMcpCapabilities.entries,
  acp: defaulted(v.boolean(), () => false),
}));

export const SessionCapabilities = object(() => ({
  ...StableSessionCapabilities.entries,
  systemPrompt: maybe(SessionSystemPromptCapabilities),
  fork: maybe(SessionForkCapabilities),
  archive: maybe(SessionArchiveCapabilities),
  status: maybe(SessionStatusCapabilities),
  title: maybe(SessionTitleCapabilities),
}));

export const AgentAuthCapabilities = object(() => ({
  ...StableAgentAuthCapabilities.entries,
  status: maybe(AuthStatusCapabilities),
}));

export const AgentCapabilities = object(() => ({
  ...StableAgentCapabilities.entries,
  mcpCapabilities: defaulted(McpCapabilities, () => ({})),
  sessionCapabilities: defaulted(SessionCapabilities, () => ({})),
  auth: defaulted(AgentAuthCapabilities, () => ({})),
  providers: maybe(ProvidersCapabilities),
}));

export const ClientCapabilities = object(() => ({
  ...StableClientCapabilities.entries,
  subagents: maybe(SubagentCapabilities),
  plan: maybe(PlanCapabilities),
}));
