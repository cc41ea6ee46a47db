/** The settings that an engine offers, in whichever of ACP's forms: config options, modes, or the models of older agents. */
import type { SessionConfigOption, SessionModeState } from "@chimera/acp-schema";
import type { EngineOption } from "@chimera/acp-schema/events";
import * as v from "valibot";

export function optionOf(option: SessionConfigOption): EngineOption[] {
  const { id, name, description, category } = option;
  const head = { id, name, ...(description && { description }), ...(category && { category }) };
  if (option.type === "boolean") return [{ ...head, value: option.currentValue }];
  if (option.type !== "select") return [];
  const choices = option.options.flatMap((one) => ("options" in one ? one.options : [one]));
  return [{ ...head, value: option.currentValue, choices: choices.map((one) => choiceOf(one.value, one)) }];
}

/** Modes of agents that offer them beside, or before, config options. */
export function modesOf(modes: SessionModeState | null | undefined, own: readonly EngineOption[]): EngineOption[] {
  if (!modes || own.some((one) => isAbout(one, "mode"))) return [];
  const choices = modes.availableModes.map((mode) => choiceOf(mode.id, mode));
  return [{ id: "mode", name: "Mode", category: "mode", value: modes.currentModeId, choices }];
}

const Models = v.object({
  currentModelId: v.string(),
  availableModels: v.array(v.object({ modelId: v.string(), name: v.string(), description: v.nullish(v.string()) })),
});

/** The list of models of older agents, which the protocol no longer has. */
export function modelsOf(models: unknown, own: readonly EngineOption[]): EngineOption[] {
  const read = v.safeParse(Models, models);
  if (!read.success || own.some((one) => isAbout(one, "model"))) return [];
  const choices = read.output.availableModels.map((model) => choiceOf(model.modelId, model));
  return [{ id: "model", name: "Model", category: "model", value: read.output.currentModelId, choices }];
}

/** A new list of options does not speak of what was made of modes and models. */
export function withModes(now: EngineOption[], before: readonly EngineOption[]): EngineOption[] {
  const made = before.filter(({ id }) => (id === "mode" || id === "model") && !now.some((one) => isAbout(one, id)));
  return [...made, ...now];
}

// --- internal ---

function choiceOf(id: string, { name, description }: { name: string; description?: string | null | undefined }) {
  return { id, name, ...(description && { description }) };
}

function isAbout({ id, category }: EngineOption, what: string): boolean {
  return id === what || category === what;
}
