/** Replies in which the server describes itself. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { json, plain } from "../define/shape.js";

/** `GET /healthz` and `GET /ping`. */
export const AliveReply = plain(() => ({ status: v.literal("ok") }));
export type AliveReply = v.InferOutput<typeof AliveReply>;

/** `GET /health`. */
export const HealthReply = plain(() => ({ status: v.literal("ok"), version: text, started_at: text }));
export type HealthReply = v.InferOutput<typeof HealthReply>;

/** `GET /readyz`: the status is 503 unless the server is ready. */
export const ReadyReply = plain(() => ({ status: v.picklist(["ready", "starting", "draining"]) }));
export type ReadyReply = v.InferOutput<typeof ReadyReply>;

/** `GET /info`. */
export const InfoReply = plain(() => ({
  version: text,
  model: text,
  provider: text,
  tools: v.array(text),
  cwd: text,
}));
export type InfoReply = v.InferOutput<typeof InfoReply>;

/** `GET /providers`. */
export const ProvidersReply = plain(() => ({
  active: plain(() => ({ provider: text, model: text })),
  available: v.array(plain(() => ({ name: text, configured: v.boolean() }))),
}));
export type ProvidersReply = v.InferOutput<typeof ProvidersReply>;

/** `GET /engines`: the programs that can run a session's turns. A body may name one, but only the user's configuration sets its command. */
export const EnginesReply = plain(() => ({
  engines: v.array(
    plain(() => ({
      name: text,
      description: text,
      /** Whether the engine is part of this program or another program that speaks ACP. */
      kind: v.picklist(["own", "acp"]),
      installed: v.boolean(),
    })),
  ),
}));
export type EnginesReply = v.InferOutput<typeof EnginesReply>;

/** `GET /tools`. */
export const ToolsReply = plain(() => ({
  tools: v.array(plain(() => ({ name: text, description: text, input_schema: json() }))),
}));
export type ToolsReply = v.InferOutput<typeof ToolsReply>;

/** The body of every failure: `error` is the code, `detail` the place of the mistake, and `request_id` finds the log's lines about it. */
export const ErrorReply = plain(() => ({
  error: v.string(),
  message: v.optional(v.string()),
  detail: v.optional(v.unknown()),
  request_id: v.optional(v.string()),
}));
export type ErrorReply = v.InferOutput<typeof ErrorReply>;
