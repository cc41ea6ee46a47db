/** Sessions over HTTP: `/sessions` and `/session`, which share handlers but have different bodies. */
import * as v from "valibot";
import { count, moment, ordinal, text } from "../define/scalar.js";
import { json, openEnum, plain, variant } from "../define/shape.js";
import type { SessionRecord } from "../events/record.js";
import { Notice, PermissionRequest, QuestionAsked } from "../events/value.js";
import type { Summary } from "../summary.js";
import { Content, settings } from "./settings.js";
import { running } from "./turn.js";

/** Seconds since 1970, as a fraction. */
const epochSeconds = v.number();
const flag = v.picklist(["true", "false"]);

/** `POST /sessions`. */
export const CreateRunningSessionBody = plain(() => ({
  /** The text of the first prompt. It may be blank only beside `content`. */
  prompt: text,
  /** Pictures, files and links that follow the text; none by default. */
  content: v.optional(Content),
  ...settings(),
  /** The most requests to the model in a turn; by default as the program is configured. */
  max_steps: v.optional(ordinal),
  /** The absolute path of the session's directory; by default the server's own. */
  cwd: v.optional(text),
  /** The names of the tools that the agent may use; by default all of them. */
  allowed_tools: v.optional(v.array(text)),
  /** Whether the log is stored, which is the default; with false it is kept in memory only. */
  persist: v.optional(v.boolean()),
}));

/**
 * 201: the session is made and its first prompt is in the queue.
 *
 * @property session_id The id of the session.
 * @property status Whether the turn runs or waits. A request that is repeated with its key gets the first answer, whatever became of the turn.
 * @property session_token The token that opens the routes of this session alone.
 */
export const CreateRunningSessionReply = plain(() => ({ session_id: text, status: running, session_token: text }));
export type CreateRunningSessionReply = v.InferOutput<typeof CreateRunningSessionReply>;

/**
 * `POST /session`.
 *
 * @property working_dir The absolute path of the session's directory; by default the server's own.
 */
export const CreateSessionBody = plain(() => ({ working_dir: v.optional(text), ...settings() }));

const place = () => ({
  /** The id of the session. */
  session_id: text,
  /** The session's directory. */
  working_dir: text,
  /** The time when the session was made, in seconds since 1970. */
  created_at: epochSeconds,
  /** The same time as text. */
  created: moment,
});

/**
 * 201.
 *
 * @property session_token The token that opens the routes of this session alone.
 */
export const CreateSessionReply = plain(() => ({ ...place(), session_token: text }));
export type CreateSessionReply = v.InferOutput<typeof CreateSessionReply>;

/** The query of `GET /sessions`. */
export const ListSessionsQuery = plain(() => ({
  /** Only sessions in memory, only those that are not, or `all`, which is the default. */
  state: v.optional(v.picklist(["live", "persisted", "all"])),
  /** The most rows of the page, live ones included; 0 means all rows. Without it the first page has all live rows and 20 more, and others have 20. */
  limit: v.optional(v.pipe(text, v.regex(/^\s*[+-]?\d+\s*$/, "not an integer"))),
  /** The `next` of the previous page; by default the list begins with the session that changed last. */
  after: v.optional(text),
  /** Only sessions from this time on: a span such as `7d`, `24h` or `30m`, or a time in ISO 8601; by default of any time. */
  since: v.optional(text),
  /** Only sessions with the model of this name; by default with any. */
  model: v.optional(text),
}));

/** A row of `GET /sessions`, with the fields of `/sessions` and of `/session`. Unknown values are null. */
export const SessionRow = plain(() => ({
  /** The id of the session. */
  session_id: text,
  /** Whether the session is in memory, or only stored. */
  state: v.picklist(["live", "persisted"]),
  /** Whether a turn runs or waits for an answer, in this process or another one. */
  status: v.picklist(["idle", "running", "waiting"]),
  /** The unanswered permission requests, in this process or another one. */
  permissions: v.array(PermissionRequest),
  /** The unanswered questions, in this process or another one. */
  questions: v.array(QuestionAsked),
  /** The session's directory. */
  working_dir: v.nullable(text),
  /** The time when the session was made, in seconds since 1970. */
  created_at: v.nullable(epochSeconds),
  /** The time of its last change, in seconds since 1970. */
  last_touched: v.nullable(epochSeconds),
  /** The time when the session was made, as text. */
  created: v.nullable(moment),
  /** The time of its last change, as text. */
  updated: v.nullable(moment),
  /** How many records its log has; null for a session that is not in memory. */
  event_count: v.nullable(count),
  /** The time when the session was made, as its summary has it. */
  started_at: v.nullable(text),
  /** The time when its last turn ended; null if none has. */
  ended_at: v.nullable(text),
  /** The name of its model. */
  model: v.nullable(text),
  /** The person who made the session; null for the program's own user. */
  owner: v.nullable(text),
  /** Whether other people may read the session. */
  shared: v.boolean(),
  /** The name in `GET /engines` of the program that runs its turns; null if the server names none. */
  engine: v.nullable(text),
  /** The beginning of the first prompt, at most 200 characters; null or empty without one. */
  prompt: v.nullable(text),
  /** The title; null without one. */
  title: v.nullable(text),
  /** Whether the last turn ended successfully; null if none has ended. */
  success: v.nullable(v.boolean()),
  /** The cost so far in dollars. */
  cost_usd: v.nullable(v.number()),
  /** How many requests went to the model. */
  steps: v.nullable(count),
  /** How many tools were called. */
  tool_calls: v.nullable(count),
}));
export type SessionRow = v.InferOutput<typeof SessionRow>;

/**
 * A page of `GET /sessions`.
 *
 * @property sessions The sessions, the last changed first.
 * @property next The `after` of the next page; null on the last page.
 */
export const ListSessionsReply = plain(() => ({ sessions: v.array(SessionRow), next: v.nullable(text) }));
export type ListSessionsReply = v.InferOutput<typeof ListSessionsReply>;

/**
 * `GET /session`.
 *
 * @property sessions The ids of the sessions in memory, oldest first.
 */
export const LiveSessionsReply = plain(() => ({ sessions: v.array(text) }));
export type LiveSessionsReply = v.InferOutput<typeof LiveSessionsReply>;

/** Replaces records of the log that cannot be read: in both streams as `event: notice` without an id, and in replies with a whole log. */
export const Loss = plain(() => ({
  /** Always `notice`. */
  type: v.literal("notice"),
  /** Always null: it belongs to no turn. */
  turn: v.null(),
  /** The notice for people. */
  metadata: Notice,
  /**
   * The numbers of the records.
   *
   * @property first The number of the first record.
   * @property last The number of the last record.
   */
  missing: plain(() => ({ first: ordinal, last: ordinal })),
}));
export type Loss = v.InferOutput<typeof Loss>;

/** A record of the log, or a `Loss` in place of those that cannot be read. Validated as an object: our own log has checksums. */
export const RecordOrLoss = json() as unknown as v.GenericSchema<SessionRecord | Loss>;

/** What the program keeps of a session beside its log. Validated as an object. */
export const SessionSummary = json() as unknown as v.GenericSchema<Summary>;

/** `GET /sessions/{id}`. */
export const SessionDetail = plain(() => ({
  /** The id of the session. */
  session_id: text,
  /** Whether a turn runs or waits, or was cancelled and is ending; `persisted` for a session that is not in memory: on a store of files, also one that another process runs. */
  state: openEnum(["idle", "running", "cancelled", "persisted"]),
  /** Whether a turn runs or waits for an answer, in this process or another one, as in the row of the list. */
  status: v.picklist(["idle", "running", "waiting"]),
  /** How many requests went to the model. */
  step_count: count,
  /** How many records the log has. */
  event_count: count,
  /** What the program keeps of the session beside its log. */
  summary: SessionSummary,
  /** All records of the log, with a `Loss` in place of those that cannot be read. */
  events: v.array(RecordOrLoss),
}));
export type SessionDetail = v.InferOutput<typeof SessionDetail>;

/**
 * `GET /session/{id}`.
 *
 * @property event_count How many records its log has.
 */
export const SessionSnapshot = plain(() => ({ ...place(), event_count: count }));
export type SessionSnapshot = v.InferOutput<typeof SessionSnapshot>;

/**
 * The query of `DELETE /sessions/{id}`.
 *
 * @property dry_run Whether to delete nothing and only report what would be deleted; by default not.
 */
export const DeleteSessionQuery = plain(() => ({ dry_run: v.optional(flag) }));

/** The answer for a dry run and for a request with `Prefer: return=representation`, with status 200 instead of 204. */
export const DeleteSessionReply = plain(() => ({
  /** The id of the session. */
  session_id: text,
  /** Whether it was deleted; false for a dry run. */
  deleted: v.boolean(),
  /** How many records the log has. */
  records: count,
  /** How many turns it has, including undone ones. */
  turns: count,
  /** How many turns had changes that could be undone. */
  snapshots: count,
}));
export type DeleteSessionReply = v.InferOutput<typeof DeleteSessionReply>;

/**
 * `POST /sessions/{id}/title`.
 *
 * @property title The title, one line; a blank one removes the title.
 */
export const TitleBody = plain(() => ({ title: text }));

/**
 * The title as it is now.
 *
 * @property session_id The id of the session.
 * @property title The title; empty if it was removed.
 */
export const TitleReply = plain(() => ({ session_id: text, title: text }));
export type TitleReply = v.InferOutput<typeof TitleReply>;

/**
 * `POST /sessions/{id}/fork`.
 *
 * @property turn The number of the last turn that is copied, counted from 0; by default the last that has ended.
 */
export const ForkBody = plain(() => ({ turn: v.optional(count) }));

/**
 * 201: the copy is a session of its own.
 *
 * @property session_id The id of the copy.
 * @property parent_id The id of the session that was copied.
 * @property session_token The token that opens the routes of the copy alone.
 */
export const ForkReply = plain(() => ({ session_id: text, parent_id: text, session_token: text }));
export type ForkReply = v.InferOutput<typeof ForkReply>;

/**
 * `POST /sessions/{id}/rotate-token` and `POST /session/{id}/rotate-token`.
 *
 * @property session_token The new token. The former one no longer works.
 */
export const RotateTokenReply = plain(() => ({ session_token: text }));
export type RotateTokenReply = v.InferOutput<typeof RotateTokenReply>;

/** An HTML page, Markdown, or the summary and all records as JSON. */
export const TranscriptFormat = v.picklist(["html", "md", "json"]);
export type TranscriptFormat = v.InferOutput<typeof TranscriptFormat>;

/**
 * The query of `GET /sessions/{id}/transcript`.
 *
 * @property format The form of the transcript; `html` by default.
 */
export const TranscriptQuery = plain(() => ({ format: v.optional(TranscriptFormat) }));

/** `POST /sessions/{id}/share`. The server names the file after the session, so it refuses a `path`. */
export const ShareBody = plain(() => ({
  /** Where the transcript goes: into a file of the server, to a URL, or into the answer. */
  sink: v.picklist(["file", "http", "stdout"]),
  /** The form of the transcript; `html` by default. */
  format: v.optional(TranscriptFormat),
  /** The public address for the sink `http`; by default the one of the server's configuration. */
  url: v.optional(text),
  path: v.optional(v.never("the server names the file itself: leave it out")),
}));

export const ShareReply = variant("sink", () => ({
  /**
   * The transcript is in a file of the server.
   *
   * @property format The form of the transcript.
   * @property path The path of the file.
   */
  file: plain(() => ({ format: TranscriptFormat, path: text })),
  /**
   * The transcript was sent to the URL.
   *
   * @property format The form of the transcript.
   * @property status The HTTP status of the answer.
   * @property reply The body of the answer, as JSON or as text.
   */
  http: plain(() => ({ format: TranscriptFormat, status: v.number(), reply: v.unknown() })),
  /**
   * The transcript is in this answer.
   *
   * @property format The form of the transcript.
   * @property body The transcript.
   */
  stdout: plain(() => ({ format: TranscriptFormat, body: text })),
}));
export type ShareReply = v.InferOutput<typeof ShareReply>;
