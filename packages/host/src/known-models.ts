/** The models that a person may choose here, with their known facts. Loaded on the first request, because the list of facts is long. */
import type { ModelsReply } from "@chimera/acp-schema/http";
import { orElse } from "@chimera/acp-schema/lenient";
import { factsOf, listedModels } from "@chimera/agent/facts";
import { type Chain, type ProviderPackages, packagedModel, routeOf, suggestModels } from "@chimera/agent/providers";

export function describeModels(program: {
  readonly env: NodeJS.ProcessEnv;
  readonly chain: Chain;
  readonly packages: ProviderPackages["rows"];
  /** The model of new sessions. */
  readonly active: string;
}): ModelsReply["models"] {
  const { env, chain, packages, active } = program;
  return [...new Set([active, ...suggestModels(env, chain, listedModels)])].map((id) => {
    const packaged = packagedModel(id, packages);
    // `routeOf` throws for a model whose key is missing.
    const route = packaged ? null : orElse(() => routeOf(id, env, chain), null);
    const known = route && factsOf(route.provider, route.served);
    const price = known?.price;
    return {
      id,
      name: id,
      provider: packaged?.provider ?? route?.provider ?? null,
      active: id === active,
      context_window: known?.contextWindow ?? null,
      max_output: known?.maxOutput ?? null,
      images: known ? known.sees : null,
      thinking: known ? known.thinking !== "none" : null,
      price: price
        ? { input: price.input, output: price.output, cache_read: price.cacheRead, cache_write: price.cacheWrite }
        : null,
    };
  });
}
