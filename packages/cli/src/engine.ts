/** The engine behind a command: the same composition as `serve`, with this command's flags on top. */
import {
  createEngine,
  createLog,
  envName,
  type Invocation,
  type RunningEngine,
  resolvePaths,
  UsageError,
} from "@chimera/host";

export interface EngineFlags {
  readonly model?: string;
  readonly maxSteps?: number;
  readonly maxCostUsd?: number;
  readonly allowedTools?: readonly string[];
}

export async function openEngineFor(invocation: Invocation, flags: EngineFlags = {}): Promise<RunningEngine> {
  const { profile, process } = invocation;
  if (flags.allowedTools) await requireTools(flags.allowedTools);
  const model = flags.model ?? process.env[envName(profile, "MODEL")];
  return createEngine({
    profile,
    env: process.env,
    paths: resolvePaths(process.env),
    log: createLog({ level: "warn", pretty: true, write: (line) => void process.stderr.write(line) }),
    settings: {
      ...(model && { model }),
      ...(flags.maxSteps !== undefined && { maxSteps: flags.maxSteps }),
      ...(flags.maxCostUsd !== undefined && { maxCostUsd: flags.maxCostUsd }),
      ...(flags.allowedTools && { allowedTools: flags.allowedTools }),
    },
    durability: "turn",
    coalesce: true,
    sessionTtl: null,
    permissionTimeout: 0,
  });
}

// --- internal ---

/** A tool name nobody knows is a mistake in what was typed, so it is told before anything starts. */
async function requireTools(names: readonly string[]): Promise<void> {
  const { builtinTools, resolveTools } = await import("@chimera/agent/tools");
  try {
    resolveTools(names, builtinTools());
  } catch (error) {
    throw new UsageError(`--allowed-tools: ${(error as Error).message}`);
  }
}
