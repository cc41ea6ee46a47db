/** The life of a session, with its unstable parts. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { SessionId } from "../acp/id.js";
import {
  ListSessionsRequest as StableListSessionsRequest,
  ListSessionsResponse as StableListSessionsResponse,
  LoadSessionRequest as StableLoadSessionRequest,
  NewSessionRequest as StableNewSessionRequest,
  NewSessionResponse as StableNewSessionResponse,
  ResumeSessionRequest as StableResumeSessionRequest,
  SessionInfo as StableSessionInfo,
} from "../acp/session.js";
import { list, maybe, object, openEnum, requiredItems } from "../define/shape.js";
import { McpServer } from "./mcp-message.js";

export const SystemPromptMode = openEnum(["append", "override"]);
export type SystemPromptMode = v.InferOutput<typeof SystemPromptMode>;

export const SystemPrompt = object(() => ({ mode: SystemPromptMode, content: v.array(ContentBlock) }));
export type SystemPrompt = v.InferOutput<typeof SystemPrompt>;

const required = () => ({ mcpServers: list(McpServer), systemPrompt: v.nullish(SystemPrompt) });
const optional = () => ({ mcpServers: v.optional(list(McpServer)), systemPrompt: v.nullish(SystemPrompt) });

export const NewSessionRequest = object(() => ({ ...StableNewSessionRequest.entries, ...required() }));
export const LoadSessionRequest = object(() => ({ ...StableLoadSessionRequest.entries, ...required() }));
export const ResumeSessionRequest = object(() => ({ ...StableResumeSessionRequest.entries, ...optional() }));
export const ForkSessionRequest = object(() => ({ ...StableResumeSessionRequest.entries, ...optional() }));
export const ForkSessionResponse = object(() => StableNewSessionResponse.entries);

export const SessionArchiveFilter = openEnum(["exclude", "include", "only"]);
export type SessionArchiveFilter = v.InferOutput<typeof SessionArchiveFilter>;

export const ListSessionsRequest = object(() => ({
  ...StableListSessionsRequest.entries,
  archived: v.nullish(SessionArchiveFilter),
}));

export const SessionInfo = object(() => ({ ...StableSessionInfo.entries, archived: maybe(v.boolean()) }));
export type SessionInfo = v.InferOutput<typeof SessionInfo>;

export const ListSessionsResponse = object(() => ({
  ...StableListSessionsResponse.entries,
  sessions: requiredItems(SessionInfo),
}));

const ref = () => ({ sessionId: SessionId });

export const ArchiveSessionRequest = object(ref);
export const ArchiveSessionResponse = object(() => ({}));
export const UnarchiveSessionRequest = object(ref);
export const UnarchiveSessionResponse = object(() => ({}));
export const SessionStatusRequest = object(ref);

export const SessionStatus = openEnum(["open", "saved"]);
export type SessionStatus = v.InferOutput<typeof SessionStatus>;

export const SessionStatusResponse = object(() => ({ status: SessionStatus }));
export const SetSessionTitleRequest = object(() => ({ sessionId: SessionId, title: v.string() }));
export const SetSessionTitleResponse = object(() => ({ title: v.string() }));
