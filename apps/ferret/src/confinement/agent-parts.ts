/** The sandbox as the agent meets it: bounds for processes, a judgement of commands, a wall around files. */
import { cleanEnvironment } from "@chimera/agent/tools";
import type { AgentParts, ExtensionContext } from "@chimera/host";
import { allowsNetwork, type OsSandbox, type SandboxMode } from "@chimera/sandbox";
import { classifyCommand } from "./classify-command.js";
import { createConfine } from "./confine.js";
import { guardFiles } from "./guard-files.js";

export interface ConfinementOptions {
  readonly mode: SandboxMode;
  readonly osSandbox: OsSandbox;
  readonly context: Pick<ExtensionContext, "env" | "paths" | "log">;
}

export function confinementParts({ mode, osSandbox, context }: ConfinementOptions): AgentParts {
  if (mode === "off") return { classify: classifyCommand };
  const { env, paths, log } = context;
  const places = { mode, stateDir: paths.root, secrets: [paths.snapshots, paths.permissions] };
  return {
    classify: classifyCommand,
    confine: createConfine({
      ...places,
      osSandbox,
      env: cleanEnvironment(env),
      log: (message) => log.warn(message),
    }),
    narrow: guardFiles(places),
    mcpNetwork: allowsNetwork(mode),
  };
}
