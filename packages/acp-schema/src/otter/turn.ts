/** Turns in the native dialect, and catching up on them after a disconnect. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { plain } from "../define/shape.js";
import { StopReason } from "../events/metadata.js";

const sessionId = v.string();
const cursor = v.pipe(v.number(), v.integer(), v.minValue(0));

/** One of `message`, `text` and `content` must be there; `content` is a block, or several. */
export const MessageRequest = v.union(
  [
    plain(() => ({ sessionId, message: v.string() })),
    plain(() => ({ sessionId, text: v.string() })),
    plain(() => ({ sessionId, content: v.union([v.string(), ContentBlock, v.array(ContentBlock)]) })),
  ],
  "sessionId and one of message, text or content are required",
);
export type MessageRequest = v.InferOutput<typeof MessageRequest>;

/** `stopReason` is `error` when the agent failed; `error` then says how. */
export const MessageResponse = plain(() => ({
  sessionId,
  stopReason: StopReason,
  output: v.string(),
  error: v.optional(v.string()),
}));
export type MessageResponse = v.InferOutput<typeof MessageResponse>;

/** From here on this connection hears of the session in camelCase notifications. */
export const TurnRequest = plain(() => ({ sessionId, prompt: v.string() }));
export type TurnRequest = v.InferOutput<typeof TurnRequest>;

export const CancelResponse = plain(() => ({ sessionId, cancelled: v.boolean() }));
export type CancelResponse = v.InferOutput<typeof CancelResponse>;

/** A cursor that is absent, negative or no integer replays everything kept. */
export const ResumeRequest = plain(() => ({ sessionId, sinceEventId: v.fallback(v.optional(cursor, 0), 0) }));
export type ResumeRequest = v.InferOutput<typeof ResumeRequest>;

/** `truncated`: updates after the cursor are no longer kept. */
export const ResumeResponse = plain(() => ({
  sessionId,
  replayed: cursor,
  lastEventId: cursor,
  truncated: v.boolean(),
}));
export type ResumeResponse = v.InferOutput<typeof ResumeResponse>;
