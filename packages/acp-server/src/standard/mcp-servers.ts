/** MCP servers as a client hands them over. Some write variables and headers as a map, or leave out what is empty. */
import type { McpServer as WireMcpServer } from "@chimera/acp-schema";
import type { McpServer } from "@chimera/session";
import type { Shape } from "../rows.js";

export function mcpServer(server: WireMcpServer): McpServer {
  const pairs = (list: readonly { name: string; value: string }[]) =>
    Object.fromEntries(list.map(({ name, value }) => [name, value]));
  if ("command" in server) {
    const { name, command, args, env } = server;
    return { type: "stdio", name, command, args, env: pairs(env) };
  }
  const { type, name, url, headers } = server;
  return { type, name, url, headers: pairs(headers) };
}

/** The method, for params whose servers were brought into the protocol's form first. */
export function withPlainServers<S extends Shape>(shape: S): S {
  const standard = shape.params["~standard"];
  const validate = (value: unknown) => standard.validate(plainServers(value));
  return { ...shape, params: { "~standard": { ...standard, validate } } };
}

// --- internal ---

function plainServers(params: unknown): unknown {
  if (!isObject(params) || !Array.isArray(params["mcpServers"])) return params;
  return { ...params, mcpServers: params["mcpServers"].map(plainServer) };
}

function plainServer(server: unknown): unknown {
  if (!isObject(server)) return server;
  return "command" in server
    ? { ...server, args: server["args"] ?? [], env: asList(server["env"]) }
    : { ...server, headers: asList(server["headers"]) };
}

function asList(value: unknown): unknown {
  if (value === undefined || value === null) return [];
  return isObject(value) ? Object.entries(value).map(([name, one]) => ({ name, value: one })) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
