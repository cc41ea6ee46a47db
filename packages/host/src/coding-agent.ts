/** The coding agent with this program's models, files and extensions. */
import { type CodingAgent, createCodingAgent } from "@chimera/agent/agents";
import { createModels } from "@chimera/agent/providers";
import type { Config } from "./config/read-config.js";
import type { StartedExtension } from "./extension.js";
import type { Profile } from "./profile.js";
import { joinAgentParts } from "./start-extensions.js";

export interface AgentSources {
  readonly profile: Profile;
  readonly env: NodeJS.ProcessEnv;
  readonly config: Config;
  readonly extensions: readonly StartedExtension[];
}

export async function openCodingAgent({ profile, env, config, extensions }: AgentSources): Promise<CodingAgent> {
  const { paths, values } = config;
  return createCodingAgent({
    resolveModel: createModels({ env, chain: await profile.chain() }),
    home: paths.home,
    env,
    permissionsFile: paths.permissions,
    rememberedDirectory: paths.remembered,
    auditDirectory: paths.audit,
    outputsDirectory: paths.outputs,
    ...(await joinAgentParts(extensions)),
    ...(values.mcp !== null && { mcpFile: values.mcp }),
  });
}
