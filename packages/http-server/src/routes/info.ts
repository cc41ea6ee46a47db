/** What the server says about itself: model, providers, tools, and its own description. */
import type { InfoReply, ProvidersReply, ToolsReply } from "@chimera/acp-schema/http";
import { describeApi } from "../openapi.js";
import type { Handlers, Parts } from "./route.js";

export function infoRoutes({ deps }: Parts) {
  const tools = async () => (await deps.tools?.()) ?? [];
  const providers = (): ProvidersReply =>
    deps.providers?.() ?? { active: { provider: "", model: deps.sessions.defaults.model }, available: [] };

  return {
    "GET /info": async (c) => {
      const { provider, model } = providers().active;
      const names = (await tools()).map((tool) => tool.name);
      return c.json({ version: deps.version, model, provider, tools: names, cwd: deps.defaultCwd } satisfies InfoReply);
    },
    "GET /providers": (c) => c.json(providers()),
    "GET /tools": async (c) => c.json({ tools: await tools() } satisfies ToolsReply),
    "GET /openapi.json": async (c) => c.json(await describeApi({ title: deps.name, version: deps.version })),
  } satisfies Handlers;
}
