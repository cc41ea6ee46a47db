/** `@chimera/agent/mcp`: tools of MCP servers, over stdio and streamable HTTP. */
export {
  connectMcp,
  type McpCallOptions,
  type McpClient,
  type McpClientOptions,
  type McpResource,
  type McpTool,
} from "./client.js";
export {
  type ConfiguredServer,
  type LoadedMcpConfig,
  loadMcpConfig,
  type McpConfig,
  type McpConfigOptions,
  parseMcpConfig,
} from "./config.js";
export { createMcpPool, type McpOffer, type McpPool, type McpPoolOptions, type McpRequest } from "./pool.js";
export { mcpToolName } from "./tool-adapter.js";
