/** Files through the client, unsaved buffers included. Paths are absolute. */
import * as v from "valibot";
import { object, uint32 } from "../define/shape.js";
import { SessionId } from "./id.js";

export const ReadTextFileRequest = object(() => ({
  sessionId: SessionId,
  path: v.string(),
  /** 1-based. */
  line: v.nullish(uint32()),
  limit: v.nullish(uint32()),
}));
export type ReadTextFileRequest = v.InferOutput<typeof ReadTextFileRequest>;

export const ReadTextFileResponse = object(() => ({ content: v.string() }));
export type ReadTextFileResponse = v.InferOutput<typeof ReadTextFileResponse>;

export const WriteTextFileRequest = object(() => ({
  sessionId: SessionId,
  path: v.string(),
  content: v.string(),
}));
export type WriteTextFileRequest = v.InferOutput<typeof WriteTextFileRequest>;

export const WriteTextFileResponse = object(() => ({}));
export type WriteTextFileResponse = v.InferOutput<typeof WriteTextFileResponse>;
