/** MCP messages that travel inside ACP, for servers that live in the client. */
import * as v from "valibot";
import { ErrorCode } from "../acp/error.js";
import { McpServerHttp, McpServerSse, McpServerStdio } from "../acp/mcp-server.js";
import { json, object, open, tagged } from "../define/shape.js";

export const McpServerAcpId = v.string();
export const McpRequestId = v.string();

/** A server the client runs itself and answers `mcp/message` for. */
export const McpServerAcp = object(() => ({ name: v.string(), serverId: McpServerAcpId }));
export type McpServerAcp = v.InferOutput<typeof McpServerAcp>;

export const McpServer = v.union([
  tagged("type", "http", McpServerHttp),
  tagged("type", "sse", McpServerSse),
  tagged("type", "acp", McpServerAcp),
  McpServerStdio,
]);
export type McpServer = v.InferOutput<typeof McpServer>;

const envelope = () => ({
  serverId: McpServerAcpId,
  requestId: McpRequestId,
  method: v.string(),
  params: v.nullish(json()),
});

export const MessageMcpRequest = object(envelope);
export const MessageMcpNotification = object(envelope);

export const McpError = open(() => ({ code: ErrorCode, message: v.string(), data: v.optional(v.unknown()) }));
export type McpError = v.InferOutput<typeof McpError>;

export const MessageMcpResponse = v.union([
  object(() => ({ result: v.unknown() })),
  object(() => ({ error: McpError })),
]);
