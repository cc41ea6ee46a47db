/** Custom slash commands over HTTP. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { plain, record } from "../define/shape.js";
import { CommandsChanged } from "../events/value.js";

/** `GET /commands`. */
export const CommandsReply = plain(() => ({
  commands: v.array(
    plain(() => ({
      name: text,
      description: text,
      args: v.array(plain(() => ({ name: text, description: text }))),
      /** The file that defines the command. */
      source: text,
    })),
  ),
}));
export type CommandsReply = v.InferOutput<typeof CommandsReply>;

/** `GET /sessions/{id}/commands`: all slash commands of the session. */
export const SessionCommandsReply = CommandsChanged;
export type SessionCommandsReply = v.InferOutput<typeof SessionCommandsReply>;

/** A value that can be inserted into a prompt as text. */
const word = v.union([text, v.number(), v.boolean()]);

/** `POST /commands/{name}/invoke`: `args` fill `$1`, `$2` …, and `kwargs` fill `$NAME` in any case. */
export const InvokeCommandBody = plain(() => ({
  session_id: v.pipe(text, v.minLength(1)),
  args: v.optional(v.array(word)),
  kwargs: v.optional(record(word)),
}));

/** 202. */
export const InvokeCommandReply = plain(() => ({ message_id: text, name: text, rendered: text }));
export type InvokeCommandReply = v.InferOutput<typeof InvokeCommandReply>;
