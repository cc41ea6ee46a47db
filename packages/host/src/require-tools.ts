/** A tool name nobody knows is a mistake in what was typed, so it is told before anything starts. */
import { UsageError } from "./command/usage-error.js";
import type { ResolvedConfig } from "./config/resolve.js";

export async function requireTools({ values, settings }: ResolvedConfig): Promise<void> {
  if (values.allowed_tools === null) return;
  const { builtinTools, resolveTools } = await import("@chimera/agent/tools");
  try {
    resolveTools(values.allowed_tools, builtinTools());
  } catch (error) {
    const from = settings.find(({ name }) => name === "allowed_tools")?.from;
    throw new UsageError(`${from}: ${(error as Error).message}`);
  }
}
