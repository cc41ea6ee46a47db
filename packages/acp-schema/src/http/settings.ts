/** The settings of a session (model, mode, agent and options), the list of models, and the content of prompts. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { count, text } from "../define/scalar.js";
import { plain, record } from "../define/shape.js";
import { MODES } from "../events/modes.js";
import { EngineOption } from "../events/value.js";

/** Pictures, files and links besides the text of a prompt, in the shape of ACP's content blocks. */
export const Content = v.array(v.pipe(ContentBlock, v.check(isBase64, "its data is not base64")));

function isBase64(block: ContentBlock): boolean {
  const { data, resource } = block as { data?: string; resource?: { blob?: string } };
  return /^[A-Za-z0-9+/=\s]*$/.test(data ?? resource?.blob ?? "");
}

const options = record(v.union([text, v.boolean()]));

/** The settings that a body may name. A new session takes the rest from the program; a present session keeps them. */
export const settings = () => ({
  /** The name of a model. */
  model: v.optional(text),
  /** What the agent may do without asking: `auto` everything, `review` only read; with `read-only` it can only read. */
  mode: v.optional(v.picklist(MODES)),
  /** The name of an agent, such as `build` or `plan`. */
  agent: v.optional(text),
  /** The name in `GET /engines` of the program that runs the turns. It can be chosen until the first prompt. */
  engine: v.optional(text),
  /** How much the model reasons; by default as the program is configured. */
  effort: v.optional(v.picklist(["default", "off", "low", "medium", "high"])),
  /** Further settings by name: `approval`, the flags of a mode, those of the engine, and `effort` again. */
  options: v.optional(options),
});

/** `PATCH /sessions/{id}`: changes all named settings, or none of them if one is refused. */
export const SettingsBody = plain(() => ({
  ...settings(),
  /** The title, one line; a blank one removes the title. */
  title: v.optional(text),
  /** Whether other people may read the session. */
  shared: v.optional(v.boolean()),
}));
export type SettingsBody = v.InferOutput<typeof SettingsBody>;

/** The present settings. */
export const SettingsReply = plain(() => ({
  /** The id of the session. */
  session_id: text,
  /** The title; null without one. */
  title: v.nullable(text),
  /** The person who made the session; null for the program's own user. */
  owner: v.nullable(text),
  /** Whether other people may read the session. */
  shared: v.boolean(),
  /** The name of the model. */
  model: text,
  /** What the agent may do without asking. */
  mode: v.picklist(MODES),
  /** The name of the agent. */
  agent: text,
  /** The most requests to the model in a turn; null for no limit. */
  max_steps: v.nullable(count),
  /** The most that the session may cost, in dollars; null for no limit. */
  max_cost_usd: v.nullable(v.number()),
  /** The names of the tools that the agent may use; null for all of them. */
  allowed_tools: v.nullable(v.array(text)),
  /** Further settings by name, among them the flags of the mode. */
  options,
  /** The engine's own settings. Each is set in `options` under `engine:` and its id. */
  engine_options: v.array(EngineOption),
}));
export type SettingsReply = v.InferOutput<typeof SettingsReply>;

/**
 * Dollars per million tokens.
 *
 * @property input Of the tokens that go to the model.
 * @property output Of the tokens that it answers with.
 * @property cache_read Of the tokens that it finds in its cache.
 * @property cache_write Of the tokens that it puts into its cache.
 */
const Price = plain(() => ({ input: v.number(), output: v.number(), cache_read: v.number(), cache_write: v.number() }));

/** `GET /models`: the models that can be chosen. Unknown properties of a model are null. */
export const ModelsReply = plain(() => ({
  /** The models, as the program knows them. */
  models: v.array(
    plain(() => ({
      /** The name by which a body chooses the model. */
      id: text,
      /** The name for people. */
      name: text,
      /** The provider; null if it is not known. */
      provider: v.nullable(text),
      /** Whether new sessions use this model. */
      active: v.boolean(),
      /** Tokens that a request and its answer may have; null if it is not known. */
      context_window: v.nullable(count),
      /** Tokens that an answer may have; null if it is not known. */
      max_output: v.nullable(count),
      /** Whether it takes images; null if it is not known. */
      images: v.nullable(v.boolean()),
      /** Whether it can reason before it answers; null if it is not known. */
      thinking: v.nullable(v.boolean()),
      /** What it costs; null if it is not known. */
      price: v.nullable(Price),
    })),
  ),
}));
export type ModelsReply = v.InferOutput<typeof ModelsReply>;
