/**
 * Checks what a client sends and turns it into the types of sessions, and remembers which prompts are the client's own. Harmless
 * departures from ACP are mended first.
 */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { McpServer as WireMcpServer } from "@chimera/acp-schema";
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import { isJsonObject, orElse } from "@chimera/acp-schema/lenient";
import type { LogEntry } from "@chimera/event-store";
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";
import type { McpServer } from "@chimera/session";
import type { Shape } from "./row.js";

/** Throws unless each path is an absolute path of an existing directory. */
export function requireDirectories(paths: readonly string[]): void {
  paths.forEach(requireDirectory);
}

/** The shape of a method whose params `change` mends before they are validated. */
export function tolerate<S extends Shape>(shape: S, change: (params: Fields) => Fields): S {
  const standard = shape.params["~standard"];
  const validate = (value: unknown) => standard.validate(isJsonObject(value) ? change(value) : value);
  return { ...shape, params: { "~standard": { ...standard, validate } } };
}

/** Mends MCP servers: some clients send variables and headers as a map, or leave out empty lists. */
export function plainServers(params: Fields): Fields {
  const { mcpServers } = params;
  return Array.isArray(mcpServers) ? { ...params, mcpServers: mcpServers.map(plainServer) } : params;
}

/** Mends a load without `mcpServers`: some clients leave the list out when they have no servers. */
export function loadedServers(params: Fields): Fields {
  return plainServers({ ...params, mcpServers: params["mcpServers"] ?? [] });
}

/** Mends links without a name: some clients send only the path, so its last part becomes the name. */
export function namedLinks(params: Fields): Fields {
  const { prompt } = params;
  return Array.isArray(prompt) ? { ...params, prompt: prompt.map(namedLink) } : params;
}

/** Mends a boolean value without its type. */
export function typedValue(params: Fields): Fields {
  return typeof params["value"] === "boolean" ? { type: "boolean", ...params } : params;
}

/** Converts an MCP server from the wire to the type that sessions use. */
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

export type OwnPrompts = ReturnType<typeof createOwnPrompts>;

/** Remembers the prompts that a connection sent, by the keys it gave them. */
export function createOwnPrompts() {
  const keys = new Set<string>();
  return {
    add(key: string | undefined) {
      if (key === undefined) return;
      keys.add(key);
      if (keys.size > MOST_KEYS) keys.delete(keys.keys().next().value!);
    },
    /** Whether the record is that of such a prompt, possibly one sent over an earlier connection. */
    has(entry: LogEntry<SessionEvent>) {
      if (keys.size === 0 || isLost(entry) || entry.event.type !== "user_message") return false;
      const { key } = entry.event.metadata;
      return key !== undefined && keys.has(key);
    },
  };
}

// --- internal ---

/** Only prompts that are still being processed lie between a prompt and its record, so the newest keys are enough. */
const MOST_KEYS = 1000;

type Fields = Readonly<Record<string, unknown>>;

function requireDirectory(path: string): void {
  if (!isAbsolute(path) || path.includes("\0")) throw refused(path, "is not an absolute path");
  const found = orElse(() => statSync(path), null);
  if (!found?.isDirectory()) throw refused(path, found ? "is not a directory" : "does not exist");
}

function refused(path: string, reason: string): RpcError {
  return new RpcError(ErrorCode.invalidParams, `${JSON.stringify(path.slice(0, 200))} ${reason}`, { path });
}

function plainServer(server: unknown): unknown {
  if (!isJsonObject(server)) return server;
  return "command" in server
    ? { ...server, args: server["args"] ?? [], env: asList(server["env"]) }
    : { ...server, headers: asList(server["headers"]) };
}

function asList(value: unknown): unknown {
  if (value === undefined || value === null) return [];
  return isJsonObject(value) ? Object.entries(value).map(([name, one]) => ({ name, value: one })) : value;
}

function namedLink(block: unknown): unknown {
  if (!isJsonObject(block) || block["type"] !== "resource_link" || typeof block["name"] === "string") return block;
  const { uri } = block;
  return typeof uri === "string"
    ? { ...block, name: uri.split(/[/\\]/).findLast((part) => part !== "") ?? uri }
    : block;
}
