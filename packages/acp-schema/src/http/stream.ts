/** The `data:` of server-sent events. `/sessions/{id}/events` sends log records (see `../events`) and one `end`. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import { json, plain } from "../define/shape.js";
import { Risk, ToolContent } from "../events/value.js";
import { RecordOrLoss, SessionRow } from "./session.js";

/** The query of `/sessions/{id}/events` and `/session/{id}/events`. */
export const StreamQuery = plain(() => ({
  /** `live` leaves out the records so far; by default they come first, after `Last-Event-ID` if that is sent. */
  from: v.optional(
    v.picklist(["live"], "only live is known; to continue after a record, send its number as Last-Event-ID"),
  ),
  /** The number of a turn, counted from 0, with whose prompt the stream begins; by default it begins with the first record. `Last-Event-ID` counts more. */
  turn: v.optional(v.pipe(text, v.regex(/^\d{1,9}$/, "not a turn's number"))),
  /** When the stream ends: when no turn runs any more (`end`), when a turn has ended (`turn`), or not by itself (`never`). The default is `end`, and `never` for `/session/{id}/events`. */
  until: v.optional(v.picklist(["end", "turn", "never"])),
}));

/** The query of `GET /events`. */
export const ManyQuery = plain(() => ({
  /** The id of a session, or `id:seq` to continue after that record. It may be repeated; without it the stream has no records. */
  session: v.optional(text),
  /** Whether to send each change of a row of `GET /sessions` too; by default not. */
  list: v.optional(v.picklist(["true", "false"])),
}));

/** The data of each event of `GET /events` by name. Event ids are the `id:seq` of each session, joined by commas. */
export const manyStream = {
  /**
   * A record of one of the sessions.
   *
   * @property session_id The id of the session.
   * @property record The record, or a `Loss` in place of those that cannot be read.
   */
  record: plain(() => ({ session_id: text, record: RecordOrLoss })),
  /**
   * A row has changed.
   *
   * @property session_id The id of the session.
   * @property row The row as it is now; null if the session was deleted, or if the caller may not see it any more.
   */
  row: plain(() => ({ session_id: text, row: v.nullable(SessionRow) })),
};

/**
 * `event: end` closes a stream of `/sessions/{id}/events`.
 *
 * @property session_id The id of the session.
 * @property success Whether the last turn ended successfully.
 */
export const EndData = plain(() => ({ session_id: text, success: v.boolean() }));
export type EndData = v.InferOutput<typeof EndData>;

/** `POST /acp`: a JSON-RPC message of the Agent Client Protocol. */
export const AcpMessage = json();

/** The data of each event of `/session/{id}/events` by name. */
export const sessionStream = {
  /**
   * A prompt was accepted.
   *
   * @property message_id The id of the prompt in its session.
   * @property text The text of the prompt.
   */
  user_message: plain(() => ({ message_id: text, text })),
  /** Each record without an event of its own. */
  loop_event: plain(() => ({
    /** The id of the turn's prompt; null outside a turn. */
    message_id: v.nullable(text),
    /** The type of the record. */
    type: text,
    /** The metadata of the record. */
    data: json(),
    /** The number of the turn, counted from 0; null outside a turn. */
    turn: v.nullable(count),
    /** The time of the record, in seconds since 1970. */
    timestamp: v.number(),
    /** The same time as text. */
    ts: text,
  })),
  /** A call waits for permission. */
  permission_request: plain(() => ({
    /** The id of the turn's prompt; null outside a turn. */
    message_id: v.nullable(text),
    /** The id of the request. */
    permission_id: text,
    /** The name of the tool. */
    tool: text,
    /** The arguments of the call. */
    args: json(),
    /** How much harm the call could do. */
    risk: Risk,
    /** The content that every client shows, such as the diff of an edit; absent if there is none. */
    content: v.optional(v.array(ToolContent)),
    /** The SHA-256 of `content` as JSON, in hex. An answer may carry it, and then counts only for this content. */
    shown: v.optional(text),
  })),
  /**
   * The turn failed. Its result follows.
   *
   * @property message_id The id of the turn's prompt; null outside a turn.
   * @property error What went wrong, in words.
   */
  error: plain(() => ({ message_id: v.nullable(text), error: text })),
  /** The turn has ended. */
  result: plain(() => ({
    /** The id of the turn's prompt. */
    message_id: text,
    /** The text of the answer. */
    output: text,
    /** How many requests went to the model. */
    steps: v.number(),
    /** The cost of the turn in dollars. */
    cost: v.number(),
    /** Whether the turn ended successfully. */
    success: v.boolean(),
    /** Whether the turn was cancelled, or never ran. */
    cancelled: v.boolean(),
  })),
};
