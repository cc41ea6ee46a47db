/** Calls as the built-in engine describes them, in a workspace that exists. */
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultSettings, type Tool, type TurnSettings, type Workspace } from "@chimera/agent";
import { builtinTools, findTool, localWorkspace } from "@chimera/agent/tools";
import { onTestFinished } from "vitest";
import type { CallPlace, PolicyCall } from "../src/index.js";

const tools = builtinTools();

/** A fresh workspace, and a directory beside it. */
export async function bench() {
  const base = await realpath(await mkdtemp(join(tmpdir(), "policy-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const [cwd, outside] = [join(base, "work"), join(base, "work-outside")];
  await mkdir(cwd);
  await mkdir(outside);
  return { cwd, outside };
}

export function callOf(name: string, args: Record<string, unknown>, { workspace }: CallPlace): PolicyCall {
  const tool = findTool(name, tools) as Tool;
  const parsed = tool.input["~standard"].validate(args);
  if (parsed instanceof Promise || parsed.issues) throw new Error(`bad arguments for ${name}`);
  return { tool, args, touches: tool.describe(parsed.value, workspace as Workspace).touches };
}

export const AUTO = { autoApproveWrites: true, autoApproveExecute: true };

export function placeOf(cwd: string, settings: Partial<TurnSettings> = {}): CallPlace {
  return {
    sessionId: "s",
    turn: 0,
    settings: { ...defaultSettings, model: "scripted", ...settings },
    workspace: localWorkspace(cwd),
  };
}
