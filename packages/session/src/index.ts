export type {
  Agent,
  AgentContext,
  Ask,
  ClientTerminal,
  McpServer,
  Turn,
  TurnSettings,
  Workspace,
} from "./agent-port.js";
