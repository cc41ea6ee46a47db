/** The engine behind a command: the same composition as `serve`, from the same settings. */
import { type Invocation, type OpenEngine, openEngine, UsageError } from "@chimera/host";

/** The caller closes `engine`. */
export async function openEngineFor(invocation: Invocation): Promise<OpenEngine> {
  const { flags, process } = invocation;
  // A person at a prompt wants the answer; what a server would log is noise there, unless it is asked for.
  const quiet = process.env["CHIMERA_LOG_LEVEL"] ? flags : { "log-level": "warn", ...flags };
  const opened = await openEngine({ ...invocation, flags: quiet });
  const { allowed_tools: tools } = opened.config.values;
  if (tools) await requireTools(tools);
  return opened;
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
