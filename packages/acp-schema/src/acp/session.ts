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
export const NewSessionResponse = object(() => ({ sessionId: SessionId, ...settings() }));

/** The agent replays the whole conversation as updates, then answers. */
export const LoadSessionRequest = object(() => ({
  mcpServers: list(McpServer),
  ...directories(),
  sessionId: SessionId,
}));

export const LoadSessionResponse = object(settings);

/** As load, without the replay. */
export const ResumeSessionRequest = object(() => ({
  sessionId: SessionId,
  ...directories(),
  mcpServers: v.optional(list(McpServer)),
}));

export const ResumeSessionResponse = object(settings);
export const ListSessionsRequest = object(() => ({ cwd: v.nullish(v.string()), cursor: v.nullish(v.string()) }));

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

export const DeleteSessionRequest = object(() => ({ sessionId: SessionId }));
export const DeleteSessionResponse = object(() => ({}));
export const CloseSessionRequest = object(() => ({ sessionId: SessionId }));
export const CloseSessionResponse = object(() => ({}));
