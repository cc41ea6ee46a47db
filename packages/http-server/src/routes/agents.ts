/** Which agents there are to run. */
import type { AgentsReply } from "@chimera/acp-schema/http";
import { listManifests, requireManifest } from "../agent-manifests.js";
import { type Handlers, type Parts, pathPart } from "./route.js";

export function agentRoutes({ deps }: Parts) {
  return {
    "GET /agents": async (c) => c.json({ agents: await listManifests(deps) } satisfies AgentsReply),
    "GET /agents/{name}": async (c) => c.json(await requireManifest(deps, pathPart(c, "name"))),
  } satisfies Handlers;
}
