/** Describes the server: model, providers, tools, agents, metrics and its OpenAPI document. */
import type {
  AgentManifest,
  AgentsReply,
  EnginesReply,
  InfoReply,
  ModelsReply,
  ProvidersReply,
  ToolsReply,
} from "@chimera/acp-schema/http";
import type { AppDeps } from "../deps.js";
import { HttpError } from "../http-error.js";
import { type Handlers, pathPart, type RouteDeps } from "./route.js";

export function programRoutes({ deps, metrics }: RouteDeps) {
  const tools = async () => (await deps.tools?.()) ?? [];
  const providers = (): ProvidersReply =>
    deps.providers?.() ?? { active: { provider: "", model: deps.sessions.defaults.model }, available: [] };

  return {
    "GET /metrics": (c) => c.body(metrics.text(), 200, { "Content-Type": METRICS_TYPE }),
    "GET /info": async (c) => {
      const { provider, model } = providers().active;
      const names = (await tools()).map((tool) => tool.name);
      return c.json({ version: deps.version, model, provider, tools: names, cwd: deps.defaultCwd } satisfies InfoReply);
    },
    "GET /providers": (c) => c.json(providers()),
    "GET /models": async (c) => c.json({ models: (await deps.models?.()) ?? [] } satisfies ModelsReply),
    "GET /engines": (c) => c.json({ engines: deps.engines?.() ?? [] } satisfies EnginesReply),
    "GET /tools": async (c) => c.json({ tools: await tools() } satisfies ToolsReply),
    "GET /openapi.json": async (c) => c.json(await describeApi({ title: deps.name, version: deps.version })),
    "GET /agents": async (c) => c.json({ agents: await listManifests(deps) } satisfies AgentsReply),
    "GET /agents/{name}": async (c) => c.json(await requireManifest(deps, pathPart(c, "name"))),
  } satisfies Handlers;
}

export async function requireManifest(deps: AppDeps, name: string): Promise<AgentManifest> {
  const found = (await listManifests(deps)).find((candidate) => candidate.name === name);
  if (!found) throw new HttpError(404, "agent_not_found", "there is no agent of that name");
  return found;
}

// --- internal ---

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The agents. The first is the default agent, which has the name of the program. */
async function listManifests(deps: AppDeps): Promise<AgentManifest[]> {
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

/** The OpenAPI document, which is loaded at the first request for it. */
async function describeApi(program: { readonly title: string; readonly version: string }) {
  const { default: api } = await import("@chimera/acp-schema/openapi.json", { with: { type: "json" } });
  return { ...api, info: { ...api.info, ...program } };
}
