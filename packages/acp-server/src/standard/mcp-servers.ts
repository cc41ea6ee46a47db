/** MCP servers as a client hands them over. */
import type { McpServer as WireMcpServer } from "@chimera/acp-schema";
import type { McpServer } from "@chimera/session";

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
