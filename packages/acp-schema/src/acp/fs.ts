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

export const ReadTextFileResponse = object(() => ({ content: v.string() }));

export const WriteTextFileRequest = object(() => ({
  sessionId: SessionId,
  path: v.string(),
  content: v.string(),
}));

export const WriteTextFileResponse = object(() => ({}));
