/** Undo, redo and the snapshots they work from. */
import * as v from "valibot";
import { plain, record } from "../define/shape.js";
import { FileOutcome } from "../events/metadata.js";

const text = v.string();
const FileChangeKind = v.picklist(["add", "update", "delete"]);
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** `POST /sessions/{id}/undo` and `/redo`: one turn unless `steps` says more; `force` also overwrites conflicts. */
export const RewindBody = plain(() => ({
  steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  force: v.optional(v.boolean()),
  dry_run: v.optional(v.boolean()),
}));
export type RewindBody = v.InferOutput<typeof RewindBody>;

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
