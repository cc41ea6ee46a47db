/** Opens a model of an installed AI SDK package. The package is loaded only here. */
import { pathToFileURL } from "node:url";
import { type AiSdkModel, type AiSdkOptions, fromAiSdk } from "../ai-sdk.js";
import { AgentError } from "../errors.js";
import { effortIn, type Model } from "./model.js";
import type { PackagedModel, ProviderPackage, ProviderPackages } from "./packages.js";
import { findPackage, installCommand } from "./packages.js";
import type { Env } from "./table.js";

/** Throws `model_unavailable` with a remedy for the person. */
export async function openPackage(wanted: PackagedModel, packages: ProviderPackages, env: Env): Promise<Model> {
  const { provider } = wanted;
  const row = packages.rows[provider] as ProviderPackage;
  const failure = (why: string, cause?: unknown) =>
    new AgentError("model_unavailable", `${provider}/${wanted.model}: ${why}`, { cause });
  const found = await findPackage(row.package, packages.directory);
  if (!found) {
    const remedy = installCommand(row.package, packages.directory);
    throw failure(`the package ${row.package} is not installed; install it with: ${remedy}`);
  }
  const exported = await load(found.entry).catch((cause: unknown) => {
    throw failure(`the package ${row.package} could not be loaded: ${messageOf(cause)}`, cause);
  });
  let model: unknown;
  try {
    model = modelOf(exported, row, wanted.model);
  } catch (cause) {
    throw failure(`the package ${row.package} does not accept the model: ${messageOf(cause)}`, cause);
  }
  if (!isModel(model))
    throw failure(`the package ${row.package} exports no provider of the AI SDK (a create… function)`);
  // Named by the row, because two rows may share a package, and one account refuses the other's seals.
  return { ...fromAiSdk(model, settingsOf(row, env)), provider };
}

// --- internal ---

type Exports = Readonly<Record<string, unknown>>;

async function load(entry: string): Promise<Exports> {
  const all: Exports = await import(pathToFileURL(entry).href);
  // For some CommonJS packages Node finds only the default export.
  return typeof all["default"] === "object" ? { ...(all["default"] as object), ...all } : all;
}

/** A package's factory is named `createMistral`, `createAmazonBedrock` and so on. Other functions have such names too. */
function modelOf(exported: Exports, { options = {} }: ProviderPackage, id: string): unknown {
  for (const [name, factory] of Object.entries(exported)) {
    if (!/^create[A-Z]/.test(name) || typeof factory !== "function") continue;
    const provider: unknown = factory({ ...options });
    const make = (provider as { languageModel?: unknown } | null | undefined)?.languageModel ?? provider;
    if (typeof make !== "function") continue;
    const model: unknown = make.call(provider, id);
    if (isModel(model)) return model;
  }
  return null;
}

function isModel(value: unknown): value is AiSdkModel {
  const { doStream, specificationVersion } = (value ?? {}) as Partial<AiSdkModel>;
  return typeof doStream === "function" && typeof specificationVersion === "string";
}

function settingsOf({ contextWindow }: ProviderPackage, env: Env): AiSdkOptions {
  const effort = effortIn(env);
  return {
    ...(contextWindow && { contextWindow }),
    ...(effort && { reasoning: effort === "off" ? "none" : effort }),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
