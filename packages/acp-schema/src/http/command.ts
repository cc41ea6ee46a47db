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
      /** The file it comes from. */
      source: text,
    })),
  ),
}));
export type CommandsReply = v.InferOutput<typeof CommandsReply>;

/** `GET /sessions/{id}/commands`: everything that may follow a slash in a prompt of the session. */
export const SessionCommandsReply = CommandsChanged;
export type SessionCommandsReply = v.InferOutput<typeof SessionCommandsReply>;

/** What can stand in a prompt as it is written. */
const word = v.union([text, v.number(), v.boolean()]);

/** `POST /commands/{name}/invoke`: `args` fill `$1`, `$2` …, `kwargs` fill `$NAME` whatever its case. */
export const InvokeCommandBody = plain(() => ({
  session_id: v.pipe(text, v.minLength(1)),
  args: v.optional(v.array(word)),
  kwargs: v.optional(record(word)),
}));

/** 202. */
export const InvokeCommandReply = plain(() => ({ message_id: text, name: text, rendered: text }));
export type InvokeCommandReply = v.InferOutput<typeof InvokeCommandReply>;
