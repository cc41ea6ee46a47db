/** The models of a program: those that fit the keys that are set, who serves them, and which of them can think. */

import { orElse } from "@chimera/acp-schema/lenient";
import type { Core } from "@chimera/acp-server";
import {
  type Chain,
  hasListedModels,
  listProviders,
  type ProviderPackages,
  packagedModel,
  routeOf,
  suggestModels,
} from "@chimera/agent/providers";

interface ModelsOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly chain: Chain;
  readonly packages: ProviderPackages;
}

export async function openModels({ env, chain, packages }: ModelsOptions) {
  // Without a key, no model of the table can be used, so the table is not loaded.
  const facts = hasListedModels(env) ? await import("@chimera/agent/facts") : null;
  let asked: { readonly model: string; readonly thinks: boolean | undefined } | null = null;
  let suggested: ReturnType<Core["models"]> | undefined;

  function lookUp(model: string): boolean | undefined {
    // `routeOf` throws for a model whose key is missing.
    const route = facts && orElse(() => routeOf(model, env, chain), null);
    const known = route && facts.factsOf(route.provider, route.served);
    return known ? known.thinking !== "none" : undefined;
  }

  /** The provider is empty when its key is missing. */
  function active(model: string): { provider: string; model: string } {
    // Name a model whose key is missing, too: the first prompt reports the missing key.
    const provider = orElse(() => (packagedModel(model, packages.rows) ?? routeOf(model, env, chain)).provider, "");
    return { provider, model };
  }

  return {
    active,
    /** Undefined when the table does not have the model or no provider serves it. */
    canThink(model: string): boolean | undefined {
      // Every new session asks, mostly about the same model.
      if (asked?.model !== model) asked = { model, thinks: lookUp(model) };
      return asked.thinks;
    },
    suggested(): ReturnType<Core["models"]> {
      // Cached, because every new session asks and the environment does not change.
      suggested ??= suggestModels(env, chain, facts?.listedModels ?? (() => [])).map((id) => ({
        id,
        name: id,
        description: active(id).provider,
      }));
      return suggested;
    },
    providers: () => [...listProviders(env), ...Object.keys(packages.rows).map((name) => ({ name, configured: true }))],
    /** The suggested models with their known facts. @param model the model of new sessions */
    async known(model: string) {
      const { describeModels } = await import("./known-models.js");
      return describeModels({ env, chain, packages: packages.rows, active: model });
    },
    /** The models that the provider of this one serves. */
    async served(model: string) {
      const { servedModels } = await import("@chimera/agent/models");
      return servedModels(model, { env, chain, packages });
    },
  };
}
