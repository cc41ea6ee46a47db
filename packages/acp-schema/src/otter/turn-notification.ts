/** What a client of `session/turn` hears in place of `session/update`: log records, under camelCase method names. */

import * as v from "valibot";
import { plain } from "../define/shape.js";
import type { RecordType } from "../events/metadata.js";
import { recordEntries } from "../events/record.js";

/** Notification method -> the record type it carries. */
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
