/** Replies in which the server describes itself. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { json, plain } from "../define/shape.js";

/**
 * `GET /healthz` and `GET /ping`.
 *
 * @property status Always `ok`.
 */
export const AliveReply = plain(() => ({ status: v.literal("ok") }));
export type AliveReply = v.InferOutput<typeof AliveReply>;

/**
 * `GET /health`.
 *
 * @property status Always `ok`.
 * @property version The version of the program.
 * @property started_at The time when the program started.
 */
export const HealthReply = plain(() => ({ status: v.literal("ok"), version: text, started_at: text }));
export type HealthReply = v.InferOutput<typeof HealthReply>;

/**
 * `GET /readyz`: the HTTP status is 503 unless the server is ready.
 *
 * @property status Whether the server takes new turns, is still starting, or takes none any more.
 */
export const ReadyReply = plain(() => ({ status: v.picklist(["ready", "starting", "draining"]) }));
export type ReadyReply = v.InferOutput<typeof ReadyReply>;

/** `GET /info`. */
export const InfoReply = plain(() => ({
  /** The version of the program. */
  version: text,
  /** The model of new sessions. */
  model: text,
  /** The provider of that model. */
  provider: text,
  /** The names of the tools. */
  tools: v.array(text),
  /** The directory of sessions that name none. */
  cwd: text,
}));
export type InfoReply = v.InferOutput<typeof InfoReply>;

/** `GET /providers`. */
export const ProvidersReply = plain(() => ({
  /**
   * What new sessions use.
   *
   * @property provider The name of the provider.
   * @property model The name of the model.
   */
  active: plain(() => ({ provider: text, model: text })),
  /**
   * The known providers.
   *
   * @property name The name of the provider.
   * @property configured Whether it can be used: its key or address is set.
   */
  available: v.array(plain(() => ({ name: text, configured: v.boolean() }))),
}));
export type ProvidersReply = v.InferOutput<typeof ProvidersReply>;

/** `GET /engines`: the programs that can run a session's turns. A body may name one, but only the user's configuration sets its command. */
export const EnginesReply = plain(() => ({
  /** The engines, the built-in one first. */
  engines: v.array(
    plain(() => ({
      /** The name by which a body chooses the engine. */
      name: text,
      /** What the engine is. */
      description: text,
      /** Whether the engine is part of this program or another program that speaks ACP. */
      kind: v.picklist(["own", "acp"]),
      /** Whether its program was found on the server's machine. */
      installed: v.boolean(),
    })),
  ),
}));
export type EnginesReply = v.InferOutput<typeof EnginesReply>;

/** `GET /tools`. */
export const ToolsReply = plain(() => ({
  /**
   * The tools.
   *
   * @property name The name of the tool.
   * @property description What the tool does, as the model reads it.
   * @property input_schema The JSON Schema of its arguments.
   */
  tools: v.array(plain(() => ({ name: text, description: text, input_schema: json() }))),
}));
export type ToolsReply = v.InferOutput<typeof ToolsReply>;

/** The body of every failure. */
export const ErrorReply = plain(() => ({
  /** The code, one of a closed set. */
  error: v.string(),
  /** What went wrong, in words; absent for an unexpected failure. */
  message: v.optional(v.string()),
  /** The place of the mistake, such as the unknown names; present for some codes. */
  detail: v.optional(v.unknown()),
  /** The command that was not found; present with `command_not_found`. */
  name: v.optional(text),
  /** The path that does not exist; present with `not_found` for a path. */
  path: v.optional(text),
  /** What has the session: its `program`, `pid`, `host` and `since`; present with `session_claimed` if it is known. */
  holder: v.optional(json()),
  /** The id that finds the lines about the request in the server's log. */
  request_id: v.optional(v.string()),
}));
export type ErrorReply = v.InferOutput<typeof ErrorReply>;
