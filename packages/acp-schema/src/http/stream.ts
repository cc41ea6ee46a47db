/** The `data:` of server-sent events. `/sessions/{id}/events` carries log records (see `../events`) and one `end`. */
import * as v from "valibot";
import { json, plain } from "../define/shape.js";
import { metadata, Risk } from "../events/metadata.js";

const text = v.string();
const seq = v.pipe(v.number(), v.integer(), v.minValue(1));

/** `event: end` closes a stream of `/sessions/{id}/events`. */
export const EndData = plain(() => ({ session_id: text, success: v.boolean() }));
export type EndData = v.InferOutput<typeof EndData>;

/** Stands where records of the log cannot be read: in both streams as `event: notice` without an id, and where a log is told whole. */
export const Loss = plain(() => ({
  type: v.literal("notice"),
  turn: v.null(),
  metadata: metadata.notice,
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
  })),
  permission_request: plain(() => ({
    message_id: v.nullable(text),
    permission_id: text,
    tool: text,
    args: json(),
    risk: Risk,
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
