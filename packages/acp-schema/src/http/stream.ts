/** The `data:` of server-sent events. `/sessions/{id}/events` carries log records (see `../events`) and one `end`. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { json, plain } from "../define/shape.js";
import { Notice, Risk, ToolContent } from "../events/value.js";
import { SessionRow } from "./session.js";

const seq = v.pipe(v.number(), v.integer(), v.minValue(1));

/**
 * The query of `/sessions/{id}/events`: `turn` begins with the prompt of that turn, unless `Last-Event-ID` names a place; `until` is `end`
 * (nothing runs any more, the default), `turn` (a turn has ended) or `never`.
 */
export const StreamQuery = plain(() => ({
  from: v.optional(text),
  turn: v.optional(v.pipe(text, v.regex(/^\d{1,9}$/, "not a turn's number"))),
  until: v.optional(v.picklist(["end", "turn", "never"])),
}));

/**
 * The query of `GET /events`. `session` is repeated: an id, or `id:seq` to go on after a record. `list=true` adds every change of a row of
 * `GET /sessions`.
 */
export const ManyQuery = plain(() => ({
  session: v.optional(text),
  list: v.optional(v.picklist(["true", "false"])),
}));

/** Event name of `GET /events` -> its data. Its ids are `id:seq` of each session, joined by commas. */
export const manyStream = {
  /** A record of the log, or a `Loss`. */
  record: plain(() => ({ session_id: text, record: json() })),
  /** A row as it is now; null for a session that is gone. */
  row: plain(() => ({ session_id: text, row: v.nullable(SessionRow) })),
};

/** `event: end` closes a stream of `/sessions/{id}/events`. */
export const EndData = plain(() => ({ session_id: text, success: v.boolean() }));
export type EndData = v.InferOutput<typeof EndData>;

/** `POST /acp`: a JSON-RPC message of the Agent Client Protocol. */
export const AcpMessage = json();

/** Stands where records of the log cannot be read: in both streams as `event: notice` without an id, and where a reply holds a whole log. */
export const Loss = plain(() => ({
  type: v.literal("notice"),
  turn: v.null(),
  metadata: Notice,
  /** Their numbers. */
  missing: plain(() => ({ first: seq, last: seq })),
}));
export type Loss = v.InferOutput<typeof Loss>;

/** Event name of `/session/{id}/events` -> its data. */
export const sessionStream = {
  user_message: plain(() => ({ message_id: text, text })),
  /** Every record that has no event of its own. */
  loop_event: plain(() => ({
    message_id: v.nullable(text),
    type: text,
    data: json(),
    turn: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0))),
    /** Seconds since 1970. */
    timestamp: v.number(),
    /** The same moment as text. */
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
