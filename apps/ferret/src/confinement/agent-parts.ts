/** The sandbox as the agent meets it: bounds for processes, a judgement of commands, a wall in front of calls. */
import { acpTerminalTool, cleanEnvironment } from "@chimera/agent/tools";
import type { AgentParts, ExtensionContext } from "@chimera/host";
import { type OsSandbox, SANDBOX_MODES, type SandboxMode } from "@chimera/sandbox";
import type { ProjectBounds } from "../project-bounds.js";
import { announceConfinement } from "./announce.js";
import { classifyCommand } from "./classify-command.js";
import { createConfine } from "./confine.js";
import { guardCalls } from "./guard-calls.js";

export interface ConfinementOptions {
  /** Of the directory the program was started in. */
  readonly mode: SandboxMode;
  readonly modeIn: ProjectBounds["sandbox"];
  readonly osSandbox: OsSandbox;
  readonly context: Pick<ExtensionContext, "env" | "paths" | "log" | "cwd">;
}

export function confinementParts({ mode, modeIn, osSandbox, context }: ConfinementOptions): AgentParts {
  const { env, paths, log, cwd } = context;
  const places = { modeIn, osSandbox, stateDir: paths.root, secrets: [paths.snapshots, paths.permissions] };
  announceConfinement({ mode, osSandbox, workspace: { cwd }, stateDir: paths.root, env }, log);
  return {
    classify: classifyCommand,
    confine: createConfine({ ...places, env: cleanEnvironment(env), log: (message) => log.warn(message) }),
    narrow: guardCalls({ ...places, readable: [paths.outputs] }),
    mcpNetwork: (cwd) => SANDBOX_MODES[modeIn(cwd)].network,
    // An editor's terminal cannot be confined; a project that wants less is spared it call by call.
    ...(mode === "off" && { tools: [acpTerminalTool] }),
  };
}
