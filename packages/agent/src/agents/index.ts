/** `@chimera/agent/agents`: agent definitions, project instructions, and the whole coding agent put together. */
export { readTextBeneath, whileUnchanged } from "../files/project-file.js";
export { type CodingAgent, type CodingAgentOptions, createCodingAgent, outputsIn } from "./coding-agent.js";
export {
  type AgentDefinition,
  BUILTIN_AGENTS,
  createAgentList,
  type LoadedAgents,
  loadAgents,
  permissionOf,
  toolsOf,
} from "./definition.js";
export { loadInstructions } from "./instructions.js";
export { type PromptFacts, systemPrompt } from "./system-prompt.js";
