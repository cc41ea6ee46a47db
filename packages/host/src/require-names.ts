/** Checks that named agents, engines and tools exist. Loaded with the agent's code, which has their lists. */
import type { Tool } from "@chimera/agent";
import { loadAgents } from "@chimera/agent/agents";
import { resolveTools } from "@chimera/agent/tools";
import { SessionError } from "@chimera/session";
import { UsageError } from "./command/usage-error.js";
import type { ConfigName } from "./config/keys.js";
import type { Config } from "./config/read-config.js";
import { settingOf } from "./config/resolve.js";
import { engineNames } from "./engines.js";

/** Checks the names with which a program is started. Throws a UsageError with the flag, variable or file of a wrong one. */
export async function requireNames({ settings, values, cwd, paths: { home } }: Config): Promise<void> {
  const refuse = (name: ConfigName, why: string): never => {
    throw new UsageError(`${settingOf({ settings }, name)?.from || name}: ${why}`);
  };
  const engines = engineNames(values);
  if (!engines.includes(values.engine))
    refuse("engine", `there is no engine ${JSON.stringify(values.engine)}; one of ${engines.join(", ")}`);
  const { agents } = await loadAgents({ home, cwd, trusted: false });
  if (!agents.some(({ name }) => name === values.agent)) {
    const known = agents.filter(({ hidden }) => !hidden).map(({ name }) => name);
    refuse("agent", `there is no agent ${JSON.stringify(values.agent)}; one of ${known.join(", ")}`);
  }
  if (values.allowed_tools === null) return;
  // The tools are half of the agent's code, so only sessions that name some wait for it.
  const { builtinTools } = await import("@chimera/agent/tools");
  try {
    resolveTools(values.allowed_tools, builtinTools());
  } catch (error) {
    refuse("allowed_tools", (error as Error).message.split("\n", 1)[0] ?? "");
  }
}

/** Throws for tools that do not exist: a session limited to those would have no tools, without saying why. */
export function requireTools(
  names: readonly string[],
  tools: readonly Tool[],
  permitted: readonly string[] | null,
): void {
  try {
    resolveTools(names, tools);
  } catch (cause) {
    throw new SessionError("invalid_setting", (cause as Error).message, { cause });
  }
  if (permitted === null) return;
  // Of MCP servers' tools only the names are known here.
  const isPermitted = (name: string) => permitted.some((one) => one.toLowerCase() === name.toLowerCase());
  const beyond = names.find((name) => name.toLowerCase().startsWith("mcp__") && !isPermitted(name));
  if (beyond)
    throw new SessionError("invalid_setting", `${beyond} is not among the tools this program was started with.`);
}
