/** Turns in the native dialect, and catching up on them after a disconnect. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { plain } from "../define/shape.js";
import type { RecordType } from "../events/metadata.js";
import { recordEntries } from "../events/record.js";
import { StopReason } from "../events/value.js";

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

/** From here on this connection hears of the session in camelCase notifications. */
export const TurnRequest = plain(() => ({ sessionId, prompt: v.string() }));
export const CancelResponse = plain(() => ({ sessionId, cancelled: v.boolean() }));

/** A cursor that is absent, negative or no integer replays everything kept. */
export const ResumeRequest = plain(() => ({ sessionId, sinceEventId: v.fallback(v.optional(cursor, 0), 0) }));

/** `truncated`: updates after the cursor are no longer kept. */
export const ResumeResponse = plain(() => ({
  sessionId,
  replayed: cursor,
  lastEventId: cursor,
  truncated: v.boolean(),
}));

/** What a client of `session/turn` gets in place of `session/update`: notification method -> the record type it carries. */
export const turnNotifications = {
  textDelta: "text_delta",
  toolCall: "tool_call",
  toolResult: "tool_result",
  stepStart: "step_start",
  stepEnd: "step_end",
  turnEnd: "turn_end",
  error: "error",
} as const satisfies Record<string, RecordType>;

// @__NO_SIDE_EFFECTS__
const carrying = <T extends RecordType>(type: T) => plain(() => ({ sessionId: v.string(), ...recordEntries(type) }));

export const TextDeltaRecord = carrying("text_delta");
export const ToolCallRecord = carrying("tool_call");
export const ToolResultRecord = carrying("tool_result");
export const StepStartRecord = carrying("step_start");
export const StepEndRecord = carrying("step_end");
export const TurnEndRecord = carrying("turn_end");
export const ErrorRecord = carrying("error");
