/** What was typed or configured by name must be there: a mistake is told before anything starts. */
import { statSync } from "node:fs";
import { UsageError } from "./command/usage-error.js";
import type { ConfigName } from "./config/keys.js";
import { readNamedFile } from "./config/named-file.js";
import { type ResolvedConfig, settingOf } from "./config/resolve.js";

export async function requireNamed(config: ResolvedConfig): Promise<void> {
  const { allowed_tools, mcp } = config.values;
  const sourceOf = (name: ConfigName) => settingOf(config, name)?.from ?? name;
  if (mcp !== null) requireJson(sourceOf("mcp"), mcp);
  if (allowed_tools !== null) await requireTools(sourceOf("allowed_tools"), allowed_tools);
}

// --- internal ---

function requireJson(source: string, path: string): void {
  // A pipe can be read once, and that is the agent's to do.
  if (isPipe(path)) return;
  const text = readNamedFile(source, path);
  try {
    JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${source}: ${path} is not JSON: ${firstLine(error)}`);
  }
}

/** What cannot be looked at cannot be read either, and that is told in its own words. */
function isPipe(path: string): boolean {
  try {
    return statSync(path).isFIFO();
  } catch {
    return false;
  }
}

async function requireTools(source: string, names: readonly string[]): Promise<void> {
  const { builtinTools, resolveTools } = await import("@chimera/agent/tools");
  try {
    resolveTools(names, builtinTools());
  } catch (error) {
    throw new UsageError(`${source}: ${firstLine(error)}`);
  }
}

function firstLine(error: unknown): string {
  return (error as Error).message.split("\n", 1)[0] ?? "";
}
