/** Sessions over HTTP: `/sessions` and `/session`, which share handlers but have different bodies. */
import * as v from "valibot";
import { count, moment, ordinal, text } from "../define/scalar.js";
import { json, plain, record, variant } from "../define/shape.js";
import { Decision, FileChange, FileOutcome, PermissionRequest, QuestionAsked } from "../events/value.js";
import { Content, settings } from "./settings.js";

/** Seconds since 1970, as a fraction. */
const epochSeconds = v.number();
const running = v.picklist(["running", "queued"]);
const flag = v.picklist(["true", "false"]);
/** An integer in a query. */
const digits = v.pipe(text, v.regex(/^\s*[+-]?\d+\s*$/, "not an integer"));

/** `POST /sessions`. `persist: false` keeps the log in memory. */
export const CreateRunningSessionBody = plain(() => ({
  prompt: v.pipe(text, v.minLength(1)),
  content: v.optional(Content),
  ...settings(),
  effort: v.optional(v.picklist(["default", "off", "low", "medium", "high"])),
  max_steps: v.optional(ordinal),
  cwd: v.optional(text),
  allowed_tools: v.optional(v.array(text)),
  persist: v.optional(v.boolean()),
}));

/** 201. */
export const CreateRunningSessionReply = plain(() => ({ session_id: text, status: running, session_token: text }));
export type CreateRunningSessionReply = v.InferOutput<typeof CreateRunningSessionReply>;

/** `POST /session`. */
export const CreateSessionBody = plain(() => ({ working_dir: v.optional(text), ...settings() }));

/** 201. */
export const CreateSessionReply = plain(() => ({
  session_id: text,
  working_dir: text,
  created_at: epochSeconds,
  created: moment,
  session_token: text,
}));
export type CreateSessionReply = v.InferOutput<typeof CreateSessionReply>;

/**
 * The query of `GET /sessions`. `limit` counts all rows, including live ones. Without it the page has all live rows and 20 others.
 * `after` is the `next` of the previous page.
 */
export const ListSessionsQuery = plain(() => ({
  state: v.optional(v.picklist(["live", "persisted", "all"])),
  limit: v.optional(digits),
  after: v.optional(text),
  since: v.optional(text),
  model: v.optional(text),
}));

/** A row of `GET /sessions`, with the fields of `/sessions` and of `/session`. Unknown values are null. */
export const SessionRow = plain(() => ({
  session_id: text,
  state: v.picklist(["live", "persisted"]),
  /** Whether a turn runs or waits for an answer, in this process or another one. */
  status: v.picklist(["idle", "running", "waiting"]),
  /** The unanswered permission requests and questions, in this process or another one. */
  permissions: v.array(PermissionRequest),
  questions: v.array(QuestionAsked),
  working_dir: v.nullable(text),
  created_at: v.nullable(epochSeconds),
  last_touched: v.nullable(epochSeconds),
  /** The times of creation and last change as text. */
  created: v.nullable(moment),
  updated: v.nullable(moment),
  event_count: v.nullable(count),
  started_at: v.nullable(text),
  ended_at: v.nullable(text),
  model: v.nullable(text),
  /** The person who made the session; null for the program's own user. */
  owner: v.nullable(text),
  /** Whether other people may read the session. */
  shared: v.boolean(),
  /** The name in `GET /engines` of the program that runs its turns; null for a stored session without one. */
  engine: v.nullable(text),
  prompt: v.nullable(text),
  title: v.nullable(text),
  success: v.nullable(v.boolean()),
  cost_usd: v.nullable(v.number()),
  steps: v.nullable(count),
  tool_calls: v.nullable(count),
}));
export type SessionRow = v.InferOutput<typeof SessionRow>;

/** `next` is the cursor of the next page, and null on the last page. */
export const ListSessionsReply = plain(() => ({ sessions: v.array(SessionRow), next: v.nullable(text) }));
export type ListSessionsReply = v.InferOutput<typeof ListSessionsReply>;

/** `GET /session`: the ids of live sessions. */
export const LiveSessionsReply = plain(() => ({ sessions: v.array(text) }));
export type LiveSessionsReply = v.InferOutput<typeof LiveSessionsReply>;

/** `GET /sessions/{id}`. */
export const SessionDetail = plain(() => ({
  session_id: text,
  state: text,
  step_count: count,
  event_count: count,
  summary: json(),
  /** All raw records of the log, with a `Loss` in place of those that cannot be read. */
  events: v.array(json()),
}));
export type SessionDetail = v.InferOutput<typeof SessionDetail>;

/** `GET /session/{id}`. */
export const SessionSnapshot = plain(() => ({
  session_id: text,
  working_dir: text,
  created_at: epochSeconds,
  created: moment,
  event_count: count,
}));
export type SessionSnapshot = v.InferOutput<typeof SessionSnapshot>;

/** The query of `DELETE /sessions/{id}`. A dry run deletes nothing and reports what would be deleted. */
export const DeleteSessionQuery = plain(() => ({ dry_run: v.optional(flag) }));

/** The answer for a dry run and for a request with `Prefer: return=representation`, with status 200 instead of 204. */
export const DeleteSessionReply = plain(() => ({
  session_id: text,
  deleted: v.boolean(),
  /** How many records the log has. */
  records: count,
  turns: count,
  /** How many turns had changes that could be undone. */
  snapshots: count,
}));
export type DeleteSessionReply = v.InferOutput<typeof DeleteSessionReply>;

/** `POST /sessions/{id}/turns`. `content` follows the prompt and can hold pictures and files. */
export const TurnBody = plain(() => ({ prompt: v.pipe(text, v.minLength(1)), content: v.optional(Content) }));
export type TurnBody = v.InferOutput<typeof TurnBody>;

/** 202. */
export const TurnReply = plain(() => ({ session_id: text, status: running, message_id: text }));
export type TurnReply = v.InferOutput<typeof TurnReply>;

/** `POST /session/{id}/message`. */
export const MessageBody = plain(() => ({ text: v.pipe(text, v.minLength(1)), content: v.optional(Content) }));

/** 202. */
export const MessageReply = plain(() => ({ message_id: text }));
export type MessageReply = v.InferOutput<typeof MessageReply>;

/** `POST /sessions/{id}/title`: one line. A blank title removes the title. */
export const TitleBody = plain(() => ({ title: text }));

export const TitleReply = plain(() => ({ session_id: text, title: text }));
export type TitleReply = v.InferOutput<typeof TitleReply>;

/** `POST /sessions/{id}/fork`: copies up to the end of `turn`, counted from 0, by default the last turn. */
export const ForkBody = plain(() => ({ turn: v.optional(count) }));

/** 201. */
export const ForkReply = plain(() => ({ session_id: text, parent_id: text, session_token: text }));
export type ForkReply = v.InferOutput<typeof ForkReply>;

/** `POST /session/{id}/rotate-token`. */
export const RotateTokenReply = plain(() => ({ session_token: text }));
export type RotateTokenReply = v.InferOutput<typeof RotateTokenReply>;

/** `POST /sessions/{id}/permissions/{pid}`. */
export const PermissionBody = plain(() => ({
  decision: Decision,
  /** The id of one of the request's `choices`, which then counts instead of the decision. */
  choice: v.optional(v.string()),
  shown: v.optional(v.string()),
  /** The reason for a no, which the model reads. */
  reason: v.optional(v.pipe(v.string(), v.maxLength(2000))),
}));
export type PermissionBody = v.InferOutput<typeof PermissionBody>;

export const PermissionReply = plain(() => ({ resolved: v.literal(true), decision: Decision }));
export type PermissionReply = v.InferOutput<typeof PermissionReply>;

/** `GET /sessions/{id}/permissions`: the metadata of the unanswered permission requests. */
export const PermissionsReply = plain(() => ({ permissions: v.array(PermissionRequest) }));
export type PermissionsReply = v.InferOutput<typeof PermissionsReply>;

/** `GET /sessions/{id}/questions`: the metadata of the unanswered questions. */
export const QuestionsReply = plain(() => ({ questions: v.array(QuestionAsked) }));
export type QuestionsReply = v.InferOutput<typeof QuestionsReply>;

/** `POST /sessions/{id}/questions/{qid}`: the name of an option or any text; null if the person does not want to answer. */
export const QuestionBody = plain(() => ({ answer: v.nullable(v.pipe(v.string(), v.maxLength(100_000))) }));

export const QuestionReply = plain(() => ({ answered: v.literal(true) }));
export type QuestionReply = v.InferOutput<typeof QuestionReply>;

/** `POST /tool/approve`, the older form. */
export const ToolApproveBody = plain(() => ({
  session_id: v.string(),
  permission_id: v.string(),
  approved: v.boolean(),
  shown: v.optional(v.string()),
}));

export const ToolApproveReply = plain(() => ({ resolved: v.literal(true), approved: v.boolean() }));
export type ToolApproveReply = v.InferOutput<typeof ToolApproveReply>;

/** `POST /sessions/{id}/undo` and `/redo`: one turn by default. `force` also overwrites files in conflict. */
export const RewindBody = plain(() => ({
  steps: v.optional(ordinal),
  force: v.optional(v.boolean()),
  dry_run: v.optional(v.boolean()),
}));

/** `conflicts` are files that were changed after the turn by others. They are left alone. */
export const RewindReply = plain(() => ({
  turns: count,
  remaining: count,
  files: v.array(FileOutcome),
  conflicts: v.array(text),
  message: text,
}));
export type RewindReply = v.InferOutput<typeof RewindReply>;

/** `files` are the files that the turn changed. `skipped` has a reason for each skipped path. */
export const Snapshot = plain(() => ({
  snap_id: text,
  turn: v.nullable(count),
  timestamp: text,
  files: v.array(plain(() => ({ path: text, change: FileChange }))),
  skipped: record(text),
}));
export type Snapshot = v.InferOutput<typeof Snapshot>;

/** `GET /sessions/{id}/snapshots`. */
export const SnapshotsReply = plain(() => ({ snapshots: v.array(Snapshot) }));
export type SnapshotsReply = v.InferOutput<typeof SnapshotsReply>;

/** `GET /sessions/{id}/snapshots/{snap}/diff`: unified diffs of the turn's changes. */
export const SnapshotDiffReply = plain(() => ({
  snap_id: text,
  files: v.array(plain(() => ({ path: text, change: FileChange, diff: text }))),
}));
export type SnapshotDiffReply = v.InferOutput<typeof SnapshotDiffReply>;

export const TranscriptFormat = v.picklist(["html", "md", "json"]);
export type TranscriptFormat = v.InferOutput<typeof TranscriptFormat>;

/** The query of `GET /sessions/{id}/transcript`. `format` is `html` by default. */
export const TranscriptQuery = plain(() => ({ format: v.optional(TranscriptFormat) }));

/** `POST /sessions/{id}/share`. `url` is for the sink `http`. The server names the file after the session, so it refuses a `path`. */
export const ShareBody = plain(() => ({
  sink: v.picklist(["file", "http", "stdout"]),
  format: v.optional(TranscriptFormat),
  url: v.optional(text),
  path: v.optional(v.never()),
}));

export const ShareReply = variant("sink", () => ({
  file: plain(() => ({ format: TranscriptFormat, path: text })),
  http: plain(() => ({ format: TranscriptFormat, status: v.number(), reply: v.unknown() })),
  stdout: plain(() => ({ format: TranscriptFormat, body: text })),
}));
export type ShareReply = v.InferOutput<typeof ShareReply>;
