/** Makes options of an engine's settings, in all of ACP's forms: config options, modes, or the models of older agents. */
import type { SessionConfigOption, SessionModeState } from "@chimera/acp-schema";
import type { AgentEvent, EngineOption } from "@chimera/acp-schema/events";
import * as v from "valibot";

/** The settings in an engine's answer when a session is opened. */
export interface OpenAnswer {
  readonly modes?: SessionModeState | null | undefined;
  readonly configOptions?: readonly SessionConfigOption[] | null | undefined;
  readonly models?: unknown;
}

export function createOptions() {
  let options: EngineOption[] = [];
  const setters = new Map<string, "session/set_mode" | "session/set_model">();

  const change = (now: EngineOption[]): AgentEvent[] => {
    if (JSON.stringify(now) === JSON.stringify(options)) return [];
    options = now;
    return [{ type: "options_changed", metadata: { options } }];
  };

  return {
    find: (id: string) => options.find((option) => option.id === id),
    /** The method that sets an option made of modes or models; undefined for a config option. */
    setterOf: (id: string) => setters.get(id),
    /** The events after an option was set. */
    chose: (id: string, value: string | boolean) =>
      change(options.map((option) => (option.id === id ? { ...option, value } : option))),
    /** The events of a new list of config options, which leaves out the options made of modes and models. */
    replaced(now: readonly SessionConfigOption[]) {
      const own = now.flatMap(optionOf);
      const made = options.filter(
        ({ id }) => (id === "mode" || id === "model") && !own.some((one) => isAbout(one, id)),
      );
      return change([...made, ...own]);
    },
    /** The events of the settings that the engine offers when a session is opened. */
    opened({ modes, configOptions, models }: OpenAnswer): AgentEvent[] {
      const own = (configOptions ?? []).flatMap(optionOf);
      const [mode, model] = [modesOf(modes, own), modelsOf(models, own)];
      if (mode.length > 0) setters.set("mode", "session/set_mode");
      if (model.length > 0) setters.set("model", "session/set_model");
      return change([...mode, ...model, ...own]);
    },
  };
}

// --- internal ---

function optionOf(option: SessionConfigOption): EngineOption[] {
  const { id, name, description, category } = option;
  const head = { id, name, ...(description && { description }), ...(category && { category }) };
  if (option.type === "boolean") return [{ ...head, value: option.currentValue }];
  if (option.type !== "select") return [];
  const choices = option.options.flatMap((one) => ("options" in one ? one.options : [one]));
  return [{ ...head, value: option.currentValue, choices: choices.map((one) => choiceOf(one.value, one)) }];
}

/** The option for an agent's modes, unless its config options already have the mode. */
function modesOf(modes: SessionModeState | null | undefined, own: readonly EngineOption[]): EngineOption[] {
  if (!modes || own.some((one) => isAbout(one, "mode"))) return [];
  const choices = modes.availableModes.map((mode) => choiceOf(mode.id, mode));
  return [{ id: "mode", name: "Mode", category: "mode", value: modes.currentModeId, choices }];
}

const Models = v.object({
  currentModelId: v.string(),
  availableModels: v.array(v.object({ modelId: v.string(), name: v.string(), description: v.nullish(v.string()) })),
});

/** The option for the models of older agents, which the protocol no longer has. */
function modelsOf(models: unknown, own: readonly EngineOption[]): EngineOption[] {
  const read = v.safeParse(Models, models);
  if (!read.success || own.some((one) => isAbout(one, "model"))) return [];
  const choices = read.output.availableModels.map((model) => choiceOf(model.modelId, model));
  return [{ id: "model", name: "Model", category: "model", value: read.output.currentModelId, choices }];
}

function choiceOf(id: string, { name, description }: { name: string; description?: string | null | undefined }) {
  return { id, name, ...(description && { description }) };
}

function isAbout({ id, category }: EngineOption, what: string): boolean {
  return id === what || category === what;
}
