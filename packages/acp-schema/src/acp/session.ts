/** The life of a session and its turns. */
import * as v from "valibot";
import { items, lenient, list, maybe, object, requiredItems, tagged } from "../define/shape.js";
import { EnvVariable } from "./client.js";
import { ContentBlock } from "./content.js";
import { RequestId, SessionId } from "./id.js";
import { SessionConfigOption, SessionModeState } from "./setting.js";

// The MCP servers that a client gives to a session. Only stdio servers have no `type`.

export const HttpHeader = object(() => ({ name: v.string(), value: v.string() }));
export type HttpHeader = v.InferOutput<typeof HttpHeader>;

export const McpServerHttp = object(() => ({ name: v.string(), url: v.string(), headers: list(HttpHeader) }));
export type McpServerHttp = v.InferOutput<typeof McpServerHttp>;

export const McpServerSse = object(() => ({ name: v.string(), url: v.string(), headers: list(HttpHeader) }));
export type McpServerSse = v.InferOutput<typeof McpServerSse>;

export const McpServerStdio = object(() => ({
  name: v.string(),
  command: v.string(),
  args: list(v.string()),
  env: list(EnvVariable),
}));
export type McpServerStdio = v.InferOutput<typeof McpServerStdio>;

export const McpServer = v.union([
  tagged("type", "http", McpServerHttp),
  tagged("type", "sse", McpServerSse),
  McpServerStdio,
]);
export type McpServer = v.InferOutput<typeof McpServer>;

// The life of a session, without its turns.

const settings = () => ({ modes: maybe(SessionModeState), configOptions: maybe(items(SessionConfigOption)) });
/** The paths are absolute. */
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

/** Like load, without the replay. */
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
  /** In ISO 8601. */
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

// A turn: its prompt, its end, its cancellation.

export const PromptRequest = object(() => ({ sessionId: SessionId, prompt: v.array(ContentBlock) }));

export const StopReason = v.picklist(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]);
export type StopReason = v.InferOutput<typeof StopReason>;

export const PromptResponse = object(() => ({ stopReason: StopReason }));

/** Ends the running turn of a session. The agent then answers its prompt with `cancelled`. */
export const CancelNotification = object(() => ({ sessionId: SessionId }));

/** Cancels one request of any method. The other side must still answer it. */
export const CancelRequestNotification = object(() => ({ requestId: RequestId }));
