/** Turns over HTTP: prompts, answers to what they ask, undo, redo, and the snapshots that these work from. */
import * as v from "valibot";
import { count, ordinal, text } from "../define/scalar.js";
import { plain, record } from "../define/shape.js";
import { Decision, FileChange, PermissionRequest, QuestionAsked, rewind } from "../events/value.js";
import { Content } from "./settings.js";

/** What a prompt that was accepted does. */
export const running = v.picklist(["running", "queued"]);

/**
 * `POST /sessions/{id}/turns`.
 *
 * @property prompt The text of the prompt. It may be blank only beside `content`.
 * @property content Pictures, files and links that follow the text; none by default.
 */
export const TurnBody = plain(() => ({ prompt: text, content: v.optional(Content) }));
export type TurnBody = v.InferOutput<typeof TurnBody>;

/**
 * 202: the prompt is in the session's queue.
 *
 * @property session_id The id of the session.
 * @property status Whether the turn runs or waits for an earlier one.
 * @property message_id The id of the prompt in its session.
 */
export const TurnReply = plain(() => ({ session_id: text, status: running, message_id: text }));
export type TurnReply = v.InferOutput<typeof TurnReply>;

/**
 * `POST /session/{id}/message`.
 *
 * @property text The text of the prompt. It may be blank only beside `content`.
 * @property content Pictures, files and links that follow the text; none by default.
 */
export const MessageBody = plain(() => ({ text, content: v.optional(Content) }));

/**
 * 202: the prompt is in the session's queue.
 *
 * @property message_id The id of the prompt in its session.
 */
export const MessageReply = plain(() => ({ message_id: text }));
export type MessageReply = v.InferOutput<typeof MessageReply>;

/** `POST /sessions/{id}/permissions/{pid}`. */
export const PermissionBody = plain(() => ({
  /** One of the request's `options`: `always` and `never` also answer later requests of the same kind. */
  decision: Decision,
  /** The id of one of the request's `choices`, which then counts instead of the decision. */
  choice: v.optional(v.string()),
  /** The request's `shown`: the answer counts only if the request still shows that. Without it the answer counts for whatever is shown. */
  shown: v.optional(v.string()),
  /** The reason for a no, which the model reads. */
  reason: v.optional(v.pipe(v.string(), v.maxLength(2000))),
}));
export type PermissionBody = v.InferOutput<typeof PermissionBody>;

/**
 * The answer counts.
 *
 * @property resolved Always true.
 * @property decision The decision of the request.
 */
export const PermissionReply = plain(() => ({ resolved: v.literal(true), decision: Decision }));
export type PermissionReply = v.InferOutput<typeof PermissionReply>;

/**
 * `GET /sessions/{id}/permissions`.
 *
 * @property permissions The unanswered permission requests, oldest first.
 */
export const PermissionsReply = plain(() => ({ permissions: v.array(PermissionRequest) }));
export type PermissionsReply = v.InferOutput<typeof PermissionsReply>;

/**
 * `GET /sessions/{id}/questions`.
 *
 * @property questions The unanswered questions, oldest first.
 */
export const QuestionsReply = plain(() => ({ questions: v.array(QuestionAsked) }));
export type QuestionsReply = v.InferOutput<typeof QuestionsReply>;

/**
 * `POST /sessions/{id}/questions/{qid}`.
 *
 * @property answer The name of an option or any text; null if the person does not want to answer.
 */
export const QuestionBody = plain(() => ({ answer: v.nullable(v.pipe(v.string(), v.maxLength(100_000))) }));

/**
 * The answer counts.
 *
 * @property answered Always true.
 */
export const QuestionReply = plain(() => ({ answered: v.literal(true) }));
export type QuestionReply = v.InferOutput<typeof QuestionReply>;

/** `POST /tool/approve`, the older form. */
export const ToolApproveBody = plain(() => ({
  /** The id of the session. */
  session_id: v.string(),
  /** The id of the permission request. */
  permission_id: v.string(),
  /** Whether the call may run. */
  approved: v.boolean(),
  /** The request's `shown`: the answer counts only if the request still shows that. Without it the answer counts for whatever is shown. */
  shown: v.optional(v.string()),
}));

/**
 * The answer counts.
 *
 * @property resolved Always true.
 * @property approved The `approved` of the request.
 */
export const ToolApproveReply = plain(() => ({ resolved: v.literal(true), approved: v.boolean() }));
export type ToolApproveReply = v.InferOutput<typeof ToolApproveReply>;

/** `POST /sessions/{id}/undo` and `/redo`. */
export const RewindBody = plain(() => ({
  /** How many turns; 1 by default. */
  steps: v.optional(ordinal),
  /** Whether to overwrite files in conflict too; by default not. */
  force: v.optional(v.boolean()),
  /** Whether to change nothing and only report what would be changed; by default not. */
  dry_run: v.optional(v.boolean()),
}));

/**
 * What an undo or a redo did, or would do.
 *
 * @property message The same in words.
 */
export const RewindReply = plain(() => ({ ...rewind.entries, message: text }));
export type RewindReply = v.InferOutput<typeof RewindReply>;

/** The snapshot of a turn, by which the turn can be undone. */
export const Snapshot = plain(() => ({
  /** The id of the snapshot. */
  snap_id: text,
  /** The number of the turn, counted from 0; null if it is not known. */
  turn: v.nullable(count),
  /** The time of the snapshot. */
  timestamp: text,
  /**
   * The files that the turn changed.
   *
   * @property path The path, relative to the session's directory.
   * @property change What the turn did to the file.
   */
  files: v.array(plain(() => ({ path: text, change: FileChange }))),
  /** The reason for each path that undo leaves alone. */
  skipped: record(text),
}));
export type Snapshot = v.InferOutput<typeof Snapshot>;

/**
 * `GET /sessions/{id}/snapshots`.
 *
 * @property snapshots The snapshots, oldest first.
 */
export const SnapshotsReply = plain(() => ({ snapshots: v.array(Snapshot) }));
export type SnapshotsReply = v.InferOutput<typeof SnapshotsReply>;

/** `GET /sessions/{id}/snapshots/{snap}/diff`: unified diffs of the turn's changes. */
export const SnapshotDiffReply = plain(() => ({
  /** The id of the snapshot. */
  snap_id: text,
  /**
   * The files that the turn changed.
   *
   * @property path The path, relative to the session's directory.
   * @property change What the turn did to the file.
   * @property diff The unified diff.
   */
  files: v.array(plain(() => ({ path: text, change: FileChange, diff: text }))),
}));
export type SnapshotDiffReply = v.InferOutput<typeof SnapshotDiffReply>;
