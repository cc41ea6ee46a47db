/** Calls as the loop would put them to a policy, in a workspace that exists. */
import type { PolicyCall, PolicyContext, Tool, TurnSettings, Workspace } from "../../src/index.js";
import { defaultSettings } from "../../src/index.js";
import { builtinTools, findTool, localWorkspace } from "../../src/tools/index.js";

const tools = builtinTools();

export function callOf(name: string, args: Record<string, unknown>, workspace: Workspace): PolicyCall {
  const tool = findTool(name, tools) as Tool;
  const parsed = tool.input["~standard"].validate(args);
  if (parsed instanceof Promise || parsed.issues) throw new Error(`bad arguments for ${name}`);
  return { tool, args, touches: tool.describe(parsed.value, workspace).touches };
}

export const AUTO = { autoApproveWrites: true, autoApproveExecute: true };

export function contextOf(cwd: string, settings: Partial<TurnSettings> = {}): PolicyContext {
  return { settings: { ...defaultSettings, model: "scripted", ...settings }, workspace: localWorkspace(cwd) };
}
