/** Calls as the loop would put them to a policy, in a workspace that exists. */
import type { PolicyCall, PolicyContext, Tool, TurnSettings, Workspace } from "../../src/index.js";
import { builtinTools, findTool, localWorkspace } from "../../src/tools/index.js";

const tools = builtinTools();

export function callOf(name: string, args: Record<string, unknown>, workspace: Workspace): PolicyCall {
  const tool = findTool(name, tools) as Tool;
  const parsed = tool.input["~standard"].validate(args);
  if (parsed instanceof Promise || parsed.issues) throw new Error(`bad arguments for ${name}`);
  return { tool, args, touches: tool.describe(parsed.value, workspace).touches };
}

const SETTINGS: TurnSettings = {
  model: "scripted",
  agent: "build",
  autoApproveWrites: false,
  autoApproveExecute: false,
  readOnly: false,
  maxSteps: 50,
  maxCostUsd: null,
  spentUsd: 0,
  allowedTools: null,
  mcpServers: [],
};

export const AUTO = { autoApproveWrites: true, autoApproveExecute: true };

export function contextOf(cwd: string, settings: Partial<TurnSettings> = {}): PolicyContext {
  return { settings: { ...SETTINGS, ...settings }, workspace: localWorkspace(cwd) };
}
