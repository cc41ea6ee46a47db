/** Rendering a session and sending it somewhere. */
import * as v from "valibot";
import { plain, variant } from "../define/shape.js";

const text = v.string();

export const TranscriptFormat = v.picklist(["html", "md", "json"]);
export type TranscriptFormat = v.InferOutput<typeof TranscriptFormat>;

/** The query of `GET /sessions/{id}/transcript`; html unless named. */
export const TranscriptQuery = plain(() => ({ format: v.optional(TranscriptFormat) }));
export type TranscriptQuery = v.InferOutput<typeof TranscriptQuery>;

/** `POST /sessions/{id}/share`. `url` is for the sink `http`; a file is named by its session, so a `path` is refused. */
export const ShareBody = plain(() => ({
  sink: v.picklist(["file", "http", "stdout"]),
  format: v.optional(TranscriptFormat),
  url: v.optional(text),
  path: v.optional(v.never()),
}));
export type ShareBody = v.InferOutput<typeof ShareBody>;

export const ShareReply = variant("sink", () => ({
  file: plain(() => ({ format: TranscriptFormat, path: text })),
  http: plain(() => ({ format: TranscriptFormat, status: v.number(), reply: v.unknown() })),
  stdout: plain(() => ({ format: TranscriptFormat, body: text })),
}));
export type ShareReply = v.InferOutput<typeof ShareReply>;
