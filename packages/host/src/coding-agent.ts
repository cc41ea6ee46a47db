/** The coding agent with this program's models, files and extensions. Its code, half of the program's, is loaded here. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

export async function openCodingAgent({ profile, env, config, extensions }: AgentSources): Promise<CodingAgent> {
  const { paths, values } = config;
  const [{ createCodingAgent }, { createModels }] = await Promise.all([
    import("@chimera/agent/agents"),
    import("@chimera/agent/providers"),
  ]);
  return createCodingAgent({
    resolveModel: createModels({ env, chain: profile.chain }),
    home: paths.home,
    env,
    permissionsFile: paths.permissions,
    rememberedDirectory: paths.remembered,
    auditDirectory: paths.audit,
    spill: (turn, name, text) => keepAside(paths.outputs, turn.sessionId, name, text),
    ...(await joinAgentParts(extensions)),
    ...(values.mcp !== null && { mcpFile: values.mcp }),
  });
}

// --- internal ---

/** Output too long for the model is kept whole in a file of its own. */
async function keepAside(folder: string, sessionId: string, name: string, text: string): Promise<string> {
  const directory = join(folder, sessionId);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${name.replace(/[^\w.-]/g, "_")}.txt`);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
