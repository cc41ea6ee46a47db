/** What a session is made with and may change: model, mode, agent, options; the models there are; what a prompt may hold. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { count, text } from "../define/scalar.js";
import { plain, record } from "../define/shape.js";
import { MODES } from "../events/modes.js";
import { EngineOption } from "../events/value.js";

/** Pictures, files and links beside the text of a prompt, in the shape of ACP's content blocks. */
export const Content = v.array(ContentBlock);

const options = record(v.union([text, v.boolean()]));

/** The settings a body may name. `options` are those that the program has besides: `effort`, `approval`, the flags of a mode. */
export const settings = () => ({
  model: v.optional(text),
  mode: v.optional(v.picklist(MODES)),
  agent: v.optional(text),
  /** The program that runs the turns, by its name in `GET /engines`. It can be chosen until the first prompt. */
  engine: v.optional(text),
  options: v.optional(options),
});

/** `PATCH /sessions/{id}`: what is named is changed, all of it or nothing. A blank title takes the title away. */
export const SettingsBody = plain(() => ({
  ...settings(),
  title: v.optional(text),
  /** Whether other people may read the session. */
  shared: v.optional(v.boolean()),
}));
export type SettingsBody = v.InferOutput<typeof SettingsBody>;

/** The settings as they are now. */
export const SettingsReply = plain(() => ({
  session_id: text,
  title: v.nullable(text),
  /** The person who made it; null where it was the program's own user. */
  owner: v.nullable(text),
  /** Other people may read it. */
  shared: v.boolean(),
  model: text,
  mode: v.picklist(MODES),
  agent: text,
  max_steps: v.nullable(count),
  max_cost_usd: v.nullable(v.number()),
  allowed_tools: v.nullable(v.array(text)),
  options,
  /** What the engine offers as its own; each is set in `options` as `engine:` and its id. */
  engine_options: v.array(EngineOption),
}));
export type SettingsReply = v.InferOutput<typeof SettingsReply>;

/** Dollars for a million tokens. */
const Price = plain(() => ({ input: v.number(), output: v.number(), cache_read: v.number(), cache_write: v.number() }));

/** `GET /models`: those that can be chosen here. What is not known of a model is null. */
export const ModelsReply = plain(() => ({
  models: v.array(
    plain(() => ({
      id: text,
      name: text,
      provider: v.nullable(text),
      /** What new sessions get. */
      active: v.boolean(),
      /** Tokens. */
      context_window: v.nullable(count),
      max_output: v.nullable(count),
      images: v.nullable(v.boolean()),
      thinking: v.nullable(v.boolean()),
      price: v.nullable(Price),
    })),
  ),
}));
export type ModelsReply = v.InferOutput<typeof ModelsReply>;
