/** Pointing an agent at another model provider. */
import * as v from "valibot";
import { object, openEnum, record, requiredItems } from "../define/shape.js";

export const ProviderId = v.string();

export const LlmProtocol = openEnum(["anthropic", "openai", "azure", "vertex", "bedrock"]);
export type LlmProtocol = v.InferOutput<typeof LlmProtocol>;

export const ProviderCurrentConfig = object(() => ({ apiType: LlmProtocol, baseUrl: v.string() }));
export type ProviderCurrentConfig = v.InferOutput<typeof ProviderCurrentConfig>;

export const ProviderInfo = object(() => ({
  providerId: ProviderId,
  supported: requiredItems(LlmProtocol),
  required: v.boolean(),
  current: v.nullish(ProviderCurrentConfig),
}));
export type ProviderInfo = v.InferOutput<typeof ProviderInfo>;

export const ListProvidersRequest = object(() => ({}));
export const ListProvidersResponse = object(() => ({ providers: v.array(ProviderInfo) }));

export const SetProviderRequest = object(() => ({
  providerId: ProviderId,
  apiType: LlmProtocol,
  baseUrl: v.string(),
  headers: v.optional(record(v.string())),
}));

export const SetProviderResponse = object(() => ({}));
export const DisableProviderRequest = object(() => ({ providerId: ProviderId }));
export const DisableProviderResponse = object(() => ({}));
