/** Custom slash commands over HTTP. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { plain, record } from "../define/shape.js";
import { CommandsChanged } from "../events/value.js";

/** `GET /commands`. */
export const CommandsReply = plain(() => ({
  /** The custom commands of the server's directory and of the user. */
  commands: v.array(
    plain(() => ({
      /** The name of the command, without the slash. */
      name: text,
      /** What the command does, in a few words. */
      description: text,
      /**
       * The arguments that the command names, in their order.
       *
       * @property name The name of the argument.
       * @property description What the argument is for.
       */
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
  /** The session that gets the prompt. */
  session_id: v.pipe(text, v.minLength(1)),
  /** The values of `$1`, `$2` and so on; none by default. */
  args: v.optional(v.array(word)),
  /** The values of `$NAME` by name, in any case; none by default. */
  kwargs: v.optional(record(word)),
}));

/**
 * 202: the prompt is in the session's queue.
 *
 * @property message_id The id of the prompt in its session.
 * @property name The name of the command.
 * @property rendered The prompt that the command made, with the arguments filled in.
 */
export const InvokeCommandReply = plain(() => ({ message_id: text, name: text, rendered: text }));
export type InvokeCommandReply = v.InferOutput<typeof InvokeCommandReply>;
