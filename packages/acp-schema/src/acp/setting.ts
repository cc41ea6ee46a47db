/** Modes and config options of a session. */
import * as v from "valibot";
import { maybe, object, openEnum, plain, requiredItems, variant } from "../define/shape.js";
import { SessionConfigGroupId, SessionConfigId, SessionConfigValueId, SessionId, SessionModeId } from "./id.js";

// Session modes: named sets of behaviour that a client can switch between.

export const SessionMode = object(() => ({
  id: SessionModeId,
  name: v.string(),
  description: maybe(v.string()),
}));
export type SessionMode = v.InferOutput<typeof SessionMode>;

export const SessionModeState = object(() => ({
  currentModeId: SessionModeId,
  availableModes: requiredItems(SessionMode),
}));
export type SessionModeState = v.InferOutput<typeof SessionModeState>;

export const SetSessionModeRequest = object(() => ({ sessionId: SessionId, modeId: SessionModeId }));
export const SetSessionModeResponse = object(() => ({}));

export const CurrentModeUpdate = object(() => ({ currentModeId: SessionModeId }));
export type CurrentModeUpdate = v.InferOutput<typeof CurrentModeUpdate>;

// Session settings that a client can show as a picker or a switch.

/** Categories that start with `_` are free for custom use. */
export const SessionConfigOptionCategory = openEnum(["mode", "model", "model_config", "thought_level"]);
export type SessionConfigOptionCategory = v.InferOutput<typeof SessionConfigOptionCategory>;

export const SessionConfigSelectOption = object(() => ({
  value: SessionConfigValueId,
  name: v.string(),
  description: maybe(v.string()),
}));
export type SessionConfigSelectOption = v.InferOutput<typeof SessionConfigSelectOption>;

export const SessionConfigSelectGroup = object(() => ({
  group: SessionConfigGroupId,
  name: v.string(),
  options: requiredItems(SessionConfigSelectOption),
}));
export type SessionConfigSelectGroup = v.InferOutput<typeof SessionConfigSelectGroup>;

export const SessionConfigSelectOptions = v.union([
  v.array(SessionConfigSelectOption),
  v.array(SessionConfigSelectGroup),
]);
export type SessionConfigSelectOptions = v.InferOutput<typeof SessionConfigSelectOptions>;

export const SessionConfigSelect = plain(() => ({
  currentValue: SessionConfigValueId,
  options: SessionConfigSelectOptions,
}));
export type SessionConfigSelect = v.InferOutput<typeof SessionConfigSelect>;

/** Only for clients with `clientCapabilities.session.configOptions.boolean`. */
export const SessionConfigBoolean = plain(() => ({ currentValue: v.boolean() }));
export type SessionConfigBoolean = v.InferOutput<typeof SessionConfigBoolean>;

const described = () => ({
  id: SessionConfigId,
  name: v.string(),
  description: maybe(v.string()),
  category: maybe(SessionConfigOptionCategory),
});

export const SessionConfigOption = variant("type", () => ({
  select: object(() => ({ ...described(), ...SessionConfigSelect.entries })),
  boolean: object(() => ({ ...described(), ...SessionConfigBoolean.entries })),
}));
export type SessionConfigOption = v.InferOutput<typeof SessionConfigOption>;

const chosen = () => ({ sessionId: SessionId, configId: SessionConfigId });

export const SetSessionConfigOptionRequest = v.union([
  object(() => ({ ...chosen(), type: v.literal("boolean"), value: v.boolean() })),
  object(() => ({ ...chosen(), value: SessionConfigValueId })),
]);

/** Carries the complete list, not only what changed. */
export const SetSessionConfigOptionResponse = object(() => ({ configOptions: requiredItems(SessionConfigOption) }));

/** Carries the complete list, not only what changed. */
export const ConfigOptionUpdate = object(() => ({ configOptions: requiredItems(SessionConfigOption) }));
export type ConfigOptionUpdate = v.InferOutput<typeof ConfigOptionUpdate>;
