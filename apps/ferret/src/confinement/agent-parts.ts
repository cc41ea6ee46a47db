/** The sandbox as the agent meets it: bounds for processes, a judgement of commands, a wall in front of calls. */
import { cleanEnvironment } from "@chimera/agent/tools";
import type { AgentParts, ExtensionContext } from "@chimera/host";
import { allowsNetwork, type OsSandbox, type SandboxMode } from "@chimera/sandbox";
import { classifyCommand } from "./classify-command.js";
import { createConfine } from "./confine.js";
import { guardCalls } from "./guard-calls.js";

export interface ConfinementOptions {
  readonly mode: SandboxMode;
  readonly osSandbox: OsSandbox;
  readonly context: Pick<ExtensionContext, "env" | "paths" | "log">;
}

export function confinementParts({ mode, osSandbox, context }: ConfinementOptions): AgentParts {
  if (mode === "off") return { classify: classifyCommand };
  const { env, paths, log } = context;
  const places = { mode, osSandbox, stateDir: paths.root, secrets: [paths.snapshots, paths.permissions] };
  return {
    classify: classifyCommand,
    confine: createConfine({ ...places, env: cleanEnvironment(env), log: (message) => log.warn(message) }),
    narrow: guardCalls({ ...places, readable: [paths.outputs] }),
    mcpNetwork: allowsNetwork(mode),
  };
}
