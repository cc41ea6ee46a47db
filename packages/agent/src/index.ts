/** `@chimera/agent`: a coding agent without a server around it. This file is the whole public surface of the root entry. */

export type {
  Agent,
  AgentContext,
  Ask,
  ClientTerminal,
  McpServer,
  Touches,
  Turn,
  TurnSettings,
  Workspace,
} from "@chimera/acp-schema/agent";
export type { Bounds, BrokenBounds, Confine, Confinement, ConfineRequest, Refused } from "./confine-port.js";
export { type AgentOptions, createAgent } from "./create-agent.js";
export {
  type Conversation,
  type ConversationOptions,
  createConversation,
  defaultSettings,
} from "./create-conversation.js";
export { AgentError, type AgentErrorCode, isAgentError } from "./errors.js";
export { type Clock, systemClock } from "./loop/patience.js";
export type { Trace } from "./loop/running-turn.js";
export { anthropicFirst, type Chain, openaiFirst } from "./providers/chains.js";
export { createModels, type ModelsOptions } from "./providers/models.js";
export type { Env } from "./providers/table.js";
export type {
  InputSchema,
  JsonSchema,
  Tool,
  ToolContext,
  ToolDescription,
  ToolImage,
  ToolOutcome,
} from "./tool.js";
