/** The agents a run may name, as the run API describes them. */
import type { AgentManifest } from "@chimera/acp-schema/http";
import type { AppDeps } from "./deps.js";
import { HttpError } from "./errors.js";

export type ManifestDeps = Pick<AppDeps, "name" | "agentDescription" | "agents" | "defaultCwd">;

/** The program's name stands for its default agent. */
export async function listManifests(deps: ManifestDeps): Promise<AgentManifest[]> {
  const { name, agentDescription: description = `${name} with its default agent` } = deps;
  const agents = (await deps.agents?.(deps.defaultCwd)) ?? [];
  return [{ id: name, description }, ...agents].map((agent) => ({
    name: agent.id,
    description: agent.description ?? "",
    input_content_types: ["text/plain"],
    output_content_types: ["text/plain"],
    metadata: {},
  }));
}

export async function requireManifest(deps: ManifestDeps, name: string): Promise<AgentManifest> {
  const found = (await listManifests(deps)).find((candidate) => candidate.name === name);
  if (!found) throw new HttpError(404, "agent_not_found", "there is no agent of that name");
  return found;
}
