/** Asking the person at the client whether a tool may run. */
import * as v from "valibot";
import { object, plain, tagged } from "../define/shape.js";
import { PermissionOptionId, SessionId } from "./id.js";
import { ToolCallUpdate } from "./tool-call.js";

export const PermissionOptionKind = v.picklist(["allow_once", "allow_always", "reject_once", "reject_always"]);
export type PermissionOptionKind = v.InferOutput<typeof PermissionOptionKind>;

export const PermissionOption = object(() => ({
  optionId: PermissionOptionId,
  name: v.string(),
  kind: PermissionOptionKind,
}));
export type PermissionOption = v.InferOutput<typeof PermissionOption>;

export const RequestPermissionRequest = object(() => ({
  sessionId: SessionId,
  toolCall: ToolCallUpdate,
  options: v.array(PermissionOption),
}));
export type RequestPermissionRequest = v.InferOutput<typeof RequestPermissionRequest>;

export const SelectedPermissionOutcome = object(() => ({ optionId: PermissionOptionId }));
export type SelectedPermissionOutcome = v.InferOutput<typeof SelectedPermissionOutcome>;

/** `cancelled` answers every open request of a turn that was cancelled. */
export const RequestPermissionOutcome = v.variant("outcome", [
  plain(() => ({ outcome: v.literal("cancelled") })),
  tagged("outcome", "selected", SelectedPermissionOutcome),
]);
export type RequestPermissionOutcome = v.InferOutput<typeof RequestPermissionOutcome>;

export const RequestPermissionResponse = object(() => ({ outcome: RequestPermissionOutcome }));
export type RequestPermissionResponse = v.InferOutput<typeof RequestPermissionResponse>;
