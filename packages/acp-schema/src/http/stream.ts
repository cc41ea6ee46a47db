/** The `data:` of server-sent events. `/sessions/{id}/events` sends log records (see `../events`) and one `end`. */
import * as v from "valibot";
import { count, ordinal, text } from "../define/scalar.js";
import { json, plain } from "../define/shape.js";
import { Notice, Risk, ToolContent } from "../events/value.js";
import { SessionRow } from "./session.js";

/**
 * The query of `/sessions/{id}/events`. `turn` begins with the prompt of that turn, unless `Last-Event-ID` names a place. `until` says when
 * the stream ends: `end` (when no turn runs any more, the default), `turn` (when a turn has ended) or `never`.
 */
export const StreamQuery = plain(() => ({
  from: v.optional(text),
  turn: v.optional(v.pipe(text, v.regex(/^\d{1,9}$/, "not a turn's number"))),
  until: v.optional(v.picklist(["end", "turn", "never"])),
}));

/**
 * The query of `GET /events`. `session` may be repeated: an id, or `id:seq` to continue after a record. `list=true` adds each change of a
 * row of `GET /sessions`.
 */
export const ManyQuery = plain(() => ({
  session: v.optional(text),
  list: v.optional(v.picklist(["true", "false"])),
}));

/** The data of each event of `GET /events` by name. Event ids are the `id:seq` of each session, joined by commas. */
export const manyStream = {
  /** A record of the log, or a `Loss`. */
  record: plain(() => ({ session_id: text, record: json() })),
  /** The present row; null for a deleted session. */
  row: plain(() => ({ session_id: text, row: v.nullable(SessionRow) })),
};

/** `event: end` closes a stream of `/sessions/{id}/events`. */
export const EndData = plain(() => ({ session_id: text, success: v.boolean() }));
export type EndData = v.InferOutput<typeof EndData>;

/** `POST /acp`: a JSON-RPC message of the Agent Client Protocol. */
export const AcpMessage = json();

/** Replaces records of the log that cannot be read: in both streams as `event: notice` without an id, and in replies with a whole log. */
export const Loss = plain(() => ({
  type: v.literal("notice"),
  turn: v.null(),
  metadata: Notice,
  /** The numbers of the records. */
  missing: plain(() => ({ first: ordinal, last: ordinal })),
}));
export type Loss = v.InferOutput<typeof Loss>;

/** The data of each event of `/session/{id}/events` by name. */
export const sessionStream = {
  user_message: plain(() => ({ message_id: text, text })),
  /** Each record without an event of its own. */
  loop_event: plain(() => ({
    message_id: v.nullable(text),
    type: text,
    data: json(),
    turn: v.nullable(count),
    /** Seconds since 1970. */
    timestamp: v.number(),
    /** The same time as text. */
    ts: text,
  })),
  permission_request: plain(() => ({
    message_id: v.nullable(text),
    permission_id: text,
    tool: text,
    args: json(),
    risk: Risk,
    content: v.optional(v.array(ToolContent)),
    shown: v.optional(text),
  })),
  error: plain(() => ({ message_id: v.nullable(text), error: text })),
  result: plain(() => ({
    message_id: text,
    output: text,
    steps: v.number(),
    cost: v.number(),
    success: v.boolean(),
    cancelled: v.boolean(),
  })),
};
