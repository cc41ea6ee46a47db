/** `session/update` with its unstable kinds. */
import * as v from "valibot";
import { SessionId } from "../acp/id.js";
import { Plan, updates as stableUpdates } from "../acp/update.js";
import { object, variant } from "../define/shape.js";
import { SessionMessage, SessionMessageChunk, SubagentUpdate } from "./subagent.js";

export const PlanId = v.string();

/** A plan that has a name; it may also live in a file. */
export const PlanItems = object(() => ({ planId: PlanId, entries: Plan.entries.entries }));
export type PlanItems = v.InferOutput<typeof PlanItems>;

export const PlanFile = object(() => ({ planId: PlanId, uri: v.string() }));
export type PlanFile = v.InferOutput<typeof PlanFile>;

export const PlanMarkdown = object(() => ({ planId: PlanId, content: v.string() }));
export type PlanMarkdown = v.InferOutput<typeof PlanMarkdown>;

export const PlanUpdateContent = variant("type", () => ({ items: PlanItems, file: PlanFile, markdown: PlanMarkdown }));
export type PlanUpdateContent = v.InferOutput<typeof PlanUpdateContent>;

export const PlanUpdate = object(() => ({ plan: PlanUpdateContent }));
export type PlanUpdate = v.InferOutput<typeof PlanUpdate>;

export const PlanRemoved = object(() => ({ planId: PlanId }));
export type PlanRemoved = v.InferOutput<typeof PlanRemoved>;

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
