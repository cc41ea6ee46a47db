/** A turn: its prompt, its end, its cancellation. */
import * as v from "valibot";
import { object } from "../define/shape.js";
import { ContentBlock } from "./content.js";
import { RequestId, SessionId } from "./id.js";

export const PromptRequest = object(() => ({ sessionId: SessionId, prompt: v.array(ContentBlock) }));

export const StopReason = v.picklist(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]);
export type StopReason = v.InferOutput<typeof StopReason>;

export const PromptResponse = object(() => ({ stopReason: StopReason }));

/** Ends the running turn of a session; its prompt is then answered with `cancelled`. */
export const CancelNotification = object(() => ({ sessionId: SessionId }));

/** Gives up one request, whatever it is; it is still answered. */
export const CancelRequestNotification = object(() => ({ requestId: RequestId }));
