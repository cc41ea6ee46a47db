/** Sessions over HTTP: `/sessions` and `/session`, which share handlers and differ in shape. */
import * as v from "valibot";
import { count, text } from "../define/scalar.js";
import { json, plain, record, variant } from "../define/shape.js";
import { Decision, FileOutcome, PermissionRequest, QuestionAsked } from "../events/value.js";
import { Content, settings } from "./settings.js";

/** Seconds since 1970, with a fraction. */
const epochSeconds = v.number();
/** ISO 8601, UTC. */
const moment = v.string();
const running = v.picklist(["running", "queued"]);
const flag = v.picklist(["true", "false"]);
/** A whole number as a query writes it. */
const digits = v.pipe(text, v.regex(/^\s*[+-]?\d+\s*$/, "not an integer"));

/** `POST /sessions`. `persist: false` keeps the log in memory. */
export const CreateRunningSessionBody = plain(() => ({
  prompt: v.pipe(text, v.minLength(1)),
  content: v.optional(Content),
  ...settings(),
  effort: v.optional(v.picklist(["default", "off", "low", "medium", "high"])),
  max_steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
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
 * The query of `GET /sessions`. `limit` counts every row, live ones too; without it all live rows come, and 20 others. `after` is the
 * `next` of the page before.
 */
export const ListSessionsQuery = plain(() => ({
  state: v.optional(v.picklist(["live", "persisted", "all"])),
  limit: v.optional(digits),
  after: v.optional(text),
  since: v.optional(text),
  model: v.optional(text),
}));

/** A row of `GET /sessions`, with the fields of both descriptions; what is not known is null. */
export const SessionRow = plain(() => ({
  session_id: text,
  state: v.picklist(["live", "persisted"]),
  /** Whether a turn runs, or waits for an answer; also in another process. */
  status: v.picklist(["idle", "running", "waiting"]),
  /** What it waits for somebody to answer, in whichever process. */
  permissions: v.array(PermissionRequest),
  questions: v.array(QuestionAsked),
  working_dir: v.nullable(text),
  created_at: v.nullable(epochSeconds),
  last_touched: v.nullable(epochSeconds),
  /** The same two moments as text. */
  created: v.nullable(moment),
  updated: v.nullable(moment),
  event_count: v.nullable(count),
  started_at: v.nullable(text),
  ended_at: v.nullable(text),
  model: v.nullable(text),
  /** The person who made it; null where it was the program's own user. */
  owner: v.nullable(text),
  /** Other people may read it. */
  shared: v.boolean(),
  /** The program that runs its turns, by its name in `GET /engines`; null for a stored session that names none. */
  engine: v.nullable(text),
  prompt: v.nullable(text),
  title: v.nullable(text),
  success: v.nullable(v.boolean()),
  cost_usd: v.nullable(v.number()),
  steps: v.nullable(count),
  tool_calls: v.nullable(count),
}));
export type SessionRow = v.InferOutput<typeof SessionRow>;

/** `next` leads to the following page; null on the last one. */
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
  /** Every record of the log, raw; a `Loss` in the place of those that cannot be read. */
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

/** The query of `DELETE /sessions/{id}`: a dry run deletes nothing and says what would go. */
export const DeleteSessionQuery = plain(() => ({ dry_run: v.optional(flag) }));

/** 200 in the place of 204, for a dry run and for a request with `Prefer: return=representation`. */
export const DeleteSessionReply = plain(() => ({
  session_id: text,
  deleted: v.boolean(),
  /** Of its log. */
  records: count,
  turns: count,
  /** Turns whose changes could be undone. */
  snapshots: count,
}));
export type DeleteSessionReply = v.InferOutput<typeof DeleteSessionReply>;

/** `POST /sessions/{id}/turns`. `content` comes after the prompt: pictures and files. */
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

/** `POST /sessions/{id}/title`: one line; a blank one takes the title away. */
export const TitleBody = plain(() => ({ title: text }));

export const TitleReply = plain(() => ({ session_id: text, title: text }));
export type TitleReply = v.InferOutput<typeof TitleReply>;

/** `POST /sessions/{id}/fork`: at the end of `turn` (0-based), the last one unless named. */
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
  /** The id of one of the request's `choices`, which then counts in place of the decision. */
  choice: v.optional(v.string()),
  shown: v.optional(v.string()),
  /** With a no: why, for the model to read. */
  reason: v.optional(v.pipe(v.string(), v.maxLength(2000))),
}));
export type PermissionBody = v.InferOutput<typeof PermissionBody>;

export const PermissionReply = plain(() => ({ resolved: v.literal(true), decision: Decision }));
export type PermissionReply = v.InferOutput<typeof PermissionReply>;

/** `GET /sessions/{id}/permissions`: the requests that wait for an answer, as their records have them. */
export const PermissionsReply = plain(() => ({ permissions: v.array(PermissionRequest) }));
export type PermissionsReply = v.InferOutput<typeof PermissionsReply>;

/** `GET /sessions/{id}/questions`: those that wait for an answer, as their records have them. */
export const QuestionsReply = plain(() => ({ questions: v.array(QuestionAsked) }));
export type QuestionsReply = v.InferOutput<typeof QuestionsReply>;

/** `POST /sessions/{id}/questions/{qid}`: the name of an option or any text; null where the person does not want to answer. */
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

const FileChangeKind = v.picklist(["add", "update", "delete"]);

/** `POST /sessions/{id}/undo` and `/redo`: one turn unless `steps` says more; `force` also overwrites conflicts. */
export const RewindBody = plain(() => ({
  steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  force: v.optional(v.boolean()),
  dry_run: v.optional(v.boolean()),
}));

/** `conflicts` are files that somebody else has changed since; they are left alone. */
export const RewindReply = plain(() => ({
  turns: count,
  remaining: count,
  files: v.array(FileOutcome),
  conflicts: v.array(text),
  message: text,
}));
export type RewindReply = v.InferOutput<typeof RewindReply>;

/** `files`: what the turn changed. `skipped`: path -> reason. */
export const Snapshot = plain(() => ({
  snap_id: text,
  turn: v.nullable(count),
  timestamp: text,
  files: v.array(plain(() => ({ path: text, change: FileChangeKind }))),
  skipped: record(text),
}));
export type Snapshot = v.InferOutput<typeof Snapshot>;

/** `GET /sessions/{id}/snapshots`. */
export const SnapshotsReply = plain(() => ({ snapshots: v.array(Snapshot) }));
export type SnapshotsReply = v.InferOutput<typeof SnapshotsReply>;

/** `GET /sessions/{id}/snapshots/{snap}/diff`: unified diffs of what the turn did. */
export const SnapshotDiffReply = plain(() => ({
  snap_id: text,
  files: v.array(plain(() => ({ path: text, change: FileChangeKind, diff: text }))),
}));
export type SnapshotDiffReply = v.InferOutput<typeof SnapshotDiffReply>;

export const TranscriptFormat = v.picklist(["html", "md", "json"]);
export type TranscriptFormat = v.InferOutput<typeof TranscriptFormat>;

/** The query of `GET /sessions/{id}/transcript`; html unless named. */
export const TranscriptQuery = plain(() => ({ format: v.optional(TranscriptFormat) }));

/** `POST /sessions/{id}/share`. `url` is for the sink `http`; a file is named by its session, so a `path` is refused. */
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
