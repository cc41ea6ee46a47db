/** From the extensions of a profile to their parts in this process. */
import type { Config, ConfigSource } from "./config/read-config.js";
import type { AgentParts, ExtensionContext, StartedExtension } from "./extension.js";
import type { Log } from "./log/log.js";

/** The extensions of a program, in the order of its profile. */
export async function startExtensions(
  { profile, flags, process }: ConfigSource,
  config: Config,
  log: Log,
): Promise<readonly StartedExtension[]> {
  const { values, under, cwd, paths } = config;
  const context: ExtensionContext = { flags, values, under, cwd, paths, env: process.env, log };
  const started = (await profile.extensions()).map((extension) => extension.start(context));
  for (const warning of started.flatMap((extension) => extension.warnings ?? [])) {
    process.stderr.write(`[${profile.name}] ${warning}\n`);
  }
  return started;
}

/** All parts as one: each narrows what the ones before it left. */
export async function joinAgentParts(extensions: readonly StartedExtension[]): Promise<AgentParts> {
  const parts = await Promise.all(
    extensions.map(async (extension): Promise<AgentParts> => (await extension.agent?.()) ?? {}),
  );
  const narrowing = parts.flatMap(({ narrow }) => narrow ?? []);
  return {
    ...Object.assign({}, ...parts),
    narrow: (policy) => narrowing.reduce((current, narrow) => narrow(current), policy),
  };
}
