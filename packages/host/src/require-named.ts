/** What was typed or configured by name must be there: a mistake is told before anything starts. */
import { readFileSync } from "node:fs";
import { UsageError } from "./command/usage-error.js";
import type { ConfigName } from "./config/keys.js";
import type { ResolvedConfig } from "./config/resolve.js";

export async function requireNamed({ values, settings }: ResolvedConfig): Promise<void> {
  const must = (name: ConfigName, look: () => void) => {
    try {
      look();
    } catch (error) {
      const from = settings.find((setting) => setting.name === name)?.from;
      throw new UsageError(`${from}: ${(error as Error).message.split("\n", 1)[0]}`);
    }
  };
  const { allowed_tools, mcp } = values;
  if (mcp !== null) must("mcp", () => JSON.parse(readFileSync(mcp, "utf8")));
  if (allowed_tools === null) return;
  const { builtinTools, resolveTools } = await import("@chimera/agent/tools");
  must("allowed_tools", () => resolveTools(allowed_tools, builtinTools()));
}
