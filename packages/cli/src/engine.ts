/** The engine behind a command: the same composition as `serve`, with this command's flags on top. */
import { type Invocation, openEngine, type RunningEngine } from "@chimera/host";

export async function openEngineFor(invocation: Invocation): Promise<RunningEngine> {
  const { engine } = await openEngine(invocation);
  return engine;
}
