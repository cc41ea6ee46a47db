/** MCP servers that a client hands to a session. Stdio is the one without a `type`. */
import * as v from "valibot";
import { list, object, tagged } from "../define/shape.js";
import { EnvVariable } from "./terminal.js";

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
