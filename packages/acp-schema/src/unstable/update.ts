/** `session/update` with its unstable kinds. */
import type * as v from "valibot";
import { SessionId } from "../acp/id.js";
import { updates as stableUpdates } from "../acp/update.js";
import { object, variant } from "../define/shape.js";
import { PlanRemoved, PlanUpdate } from "./plan.js";
import { SessionMessage, SessionMessageChunk, SubagentUpdate } from "./subagent.js";

/** Update kind -> what it carries. */
export const updates = {
  ...stableUpdates,
  plan_update: PlanUpdate,
  plan_removed: PlanRemoved,
  subagent_update: SubagentUpdate,
  session_message: SessionMessage,
  session_message_chunk: SessionMessageChunk,
};

export const SessionUpdate = variant("sessionUpdate", () => updates);
export type SessionUpdate = v.InferOutput<typeof SessionUpdate>;

export const SessionNotification = object(() => ({ sessionId: SessionId, update: SessionUpdate }));
export type SessionNotification = v.InferOutput<typeof SessionNotification>;
