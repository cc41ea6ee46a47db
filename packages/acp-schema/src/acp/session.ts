/** The life of a session, but for its turns. */
import * as v from "valibot";
import { items, lenient, list, maybe, object, requiredItems } from "../define/shape.js";
import { SessionConfigOption } from "./config-option.js";
import { SessionId } from "./id.js";
import { McpServer } from "./mcp-server.js";
import { SessionModeState } from "./mode.js";

const settings = () => ({ modes: maybe(SessionModeState), configOptions: maybe(items(SessionConfigOption)) });
/** Absolute paths. */
const directories = () => ({ cwd: v.string(), additionalDirectories: v.optional(list(v.string())) });

export const NewSessionRequest = object(() => ({ ...directories(), mcpServers: list(McpServer) }));
export type NewSessionRequest = v.InferOutput<typeof NewSessionRequest>;

export const NewSessionResponse = object(() => ({ sessionId: SessionId, ...settings() }));
export type NewSessionResponse = v.InferOutput<typeof NewSessionResponse>;

/** The agent replays the whole conversation as updates, then answers. */
export const LoadSessionRequest = object(() => ({
  mcpServers: list(McpServer),
  ...directories(),
  sessionId: SessionId,
}));
export type LoadSessionRequest = v.InferOutput<typeof LoadSessionRequest>;

export const LoadSessionResponse = object(settings);
export type LoadSessionResponse = v.InferOutput<typeof LoadSessionResponse>;

/** As load, without the replay. */
export const ResumeSessionRequest = object(() => ({
  sessionId: SessionId,
  ...directories(),
  mcpServers: v.optional(list(McpServer)),
}));
export type ResumeSessionRequest = v.InferOutput<typeof ResumeSessionRequest>;

export const ResumeSessionResponse = object(settings);
export type ResumeSessionResponse = v.InferOutput<typeof ResumeSessionResponse>;

export const ListSessionsRequest = object(() => ({ cwd: v.nullish(v.string()), cursor: v.nullish(v.string()) }));
export type ListSessionsRequest = v.InferOutput<typeof ListSessionsRequest>;

export const SessionInfo = object(() => ({
  sessionId: SessionId,
  cwd: v.string(),
  additionalDirectories: lenient(items(v.string()), () => []),
  title: maybe(v.string()),
  /** ISO 8601. */
  updatedAt: maybe(v.string()),
}));
export type SessionInfo = v.InferOutput<typeof SessionInfo>;

export const ListSessionsResponse = object(() => ({
  sessions: requiredItems(SessionInfo),
  nextCursor: maybe(v.string()),
}));
export type ListSessionsResponse = v.InferOutput<typeof ListSessionsResponse>;

export const DeleteSessionRequest = object(() => ({ sessionId: SessionId }));
export type DeleteSessionRequest = v.InferOutput<typeof DeleteSessionRequest>;

export const DeleteSessionResponse = object(() => ({}));
export type DeleteSessionResponse = v.InferOutput<typeof DeleteSessionResponse>;

export const CloseSessionRequest = object(() => ({ sessionId: SessionId }));
export type CloseSessionRequest = v.InferOutput<typeof CloseSessionRequest>;

export const CloseSessionResponse = object(() => ({}));
export type CloseSessionResponse = v.InferOutput<typeof CloseSessionResponse>;
