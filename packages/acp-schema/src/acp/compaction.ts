/** Shortening a long conversation; only for clients that say `session.compaction`. */
import * as v from "valibot";
import { items, maybe, object, openEnum } from "../define/shape.js";
import { ContentBlock } from "./content.js";
import { CompactionId } from "./id.js";

export const CompactionStatus = openEnum(["in_progress", "completed", "failed", "cancelled"]);
export type CompactionStatus = v.InferOutput<typeof CompactionStatus>;

export const CompactionUpdate = object(() => ({
  compactionId: CompactionId,
  status: CompactionStatus,
  summary: maybe(items(ContentBlock)),
  error: maybe(v.string()),
}));
export type CompactionUpdate = v.InferOutput<typeof CompactionUpdate>;

export const CompactionSummaryChunk = object(() => ({ compactionId: CompactionId, content: ContentBlock }));
export type CompactionSummaryChunk = v.InferOutput<typeof CompactionSummaryChunk>;
