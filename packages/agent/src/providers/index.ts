/** `@chimera/agent/providers`: the model port, the providers that implement it, and the lookup from a name to one of them. */

export { anthropicFirst, type Chain, openaiFirst } from "./chains.js";
export { factsDate, factsOf, type ModelFacts, type ThinkingForm } from "./facts.js";
export {
  EFFORTS,
  type Effort,
  type EffortChoice,
  type Model,
  type ModelEvent,
  type ModelMessage,
  type ModelRequest,
  type ModelStop,
  type ModelTool,
  type ModelUsage,
  type Price,
  parseEffort,
} from "./model.js";
export { createModels, type ModelsOptions, servedModels } from "./models.js";
export { createOfflineModel } from "./offline.js";
export {
  findPackage,
  installCommand,
  type PackagedModel,
  type ProviderPackage,
  type ProviderPackages,
  packagedModel,
} from "./packages.js";
export { createPost, type Post, type PostOptions, type PostReply, type PostRequest } from "./post.js";
export { type ModelAddress, modelAddress } from "./resolve.js";
export { defaultModel, hasListedModels, listProviders, type ModelRoute, routeOf, suggestModels } from "./route.js";
export type { Env, ProviderName } from "./table.js";
