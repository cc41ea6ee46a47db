/** The settings of a session (model, mode, agent and options), the list of models, and the content of prompts. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { count, text } from "../define/scalar.js";
import { plain, record } from "../define/shape.js";
import { MODES } from "../events/modes.js";
import { EngineOption } from "../events/value.js";

/** Pictures, files and links besides the text of a prompt, in the shape of ACP's content blocks. */
export const Content = v.array(ContentBlock);

const options = record(v.union([text, v.boolean()]));

/** The settings that a body may name. `options` are further settings of the program: `effort`, `approval` and the flags of a mode. */
export const settings = () => ({
  model: v.optional(text),
  mode: v.optional(v.picklist(MODES)),
  agent: v.optional(text),
  /** The name in `GET /engines` of the program that runs the turns. It can be chosen until the first prompt. */
  engine: v.optional(text),
  options: v.optional(options),
});

/** `PATCH /sessions/{id}`: changes all named settings, or none of them if one is refused. A blank title removes the title. */
export const SettingsBody = plain(() => ({
  ...settings(),
  title: v.optional(text),
  /** Whether other people may read the session. */
  shared: v.optional(v.boolean()),
}));
export type SettingsBody = v.InferOutput<typeof SettingsBody>;

/** The present settings. */
export const SettingsReply = plain(() => ({
  session_id: text,
  title: v.nullable(text),
  /** The person who made the session; null for the program's own user. */
  owner: v.nullable(text),
  /** Whether other people may read the session. */
  shared: v.boolean(),
  model: text,
  mode: v.picklist(MODES),
  agent: text,
  max_steps: v.nullable(count),
  max_cost_usd: v.nullable(v.number()),
  allowed_tools: v.nullable(v.array(text)),
  options,
  /** The engine's own settings. Each is set in `options` under `engine:` and its id. */
  engine_options: v.array(EngineOption),
}));
export type SettingsReply = v.InferOutput<typeof SettingsReply>;

/** Dollars per million tokens. */
const Price = plain(() => ({ input: v.number(), output: v.number(), cache_read: v.number(), cache_write: v.number() }));

/** `GET /models`: the models that can be chosen. Unknown properties of a model are null. */
export const ModelsReply = plain(() => ({
  models: v.array(
    plain(() => ({
      id: text,
      name: text,
      provider: v.nullable(text),
      /** Whether new sessions use this model. */
      active: v.boolean(),
      /** In tokens. */
      context_window: v.nullable(count),
      max_output: v.nullable(count),
      images: v.nullable(v.boolean()),
      thinking: v.nullable(v.boolean()),
      price: v.nullable(Price),
    })),
  ),
}));
export type ModelsReply = v.InferOutput<typeof ModelsReply>;
