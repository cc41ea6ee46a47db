/** The coding agent with this program's models, files and extensions. Its code, half of the program's, is loaded here. */
import type { CodingAgent } from "@chimera/agent/agents";
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

/** Its code alone. */
export function loadAgent() {
  return Promise.all([import("@chimera/agent/agents"), import("@chimera/agent/providers")]);
}

export async function openCodingAgent({ profile, env, config, extensions }: AgentSources): Promise<CodingAgent> {
  const { paths, values } = config;
  const [{ createCodingAgent }, { createModels }] = await loadAgent();
  return createCodingAgent({
    resolveModel: createModels({
      env,
      chain: profile.chain,
      packages: { rows: values.providers, directory: paths.root },
    }),
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
