/** `@chimera/agent`: a coding agent without a server around it. This file is the whole public surface of the root entry. */
export type { AuditEntry, Policy, PolicyCall, PolicyContext, PolicyDecision } from "./policy-port.js";
export type { Agent, AgentContext, Ask, ClientTerminal, McpServer, Turn, TurnSettings, Workspace } from "./port.js";
export type {
  InputResult,
  InputSchema,
  JsonSchema,
  Tool,
  ToolContext,
  ToolDescription,
  ToolImage,
  ToolOutcome,
  Touches,
} from "./tool.js";
