/** `session/update` of ferret: flat, told apart by `kind`, with otter's `update` beside it. */
import * as v from "valibot";
import { json, plain, variant } from "../define/shape.js";
import { metadata } from "../events/metadata.js";
import { Risk, StopReason } from "../events/value.js";
import { updates as otterUpdates } from "../otter/update.js";

const text = v.string();

export const AgentMessageChunk = plain(() => ({ text }));
export type AgentMessageChunk = v.InferOutput<typeof AgentMessageChunk>;

export const ToolCallStart = plain(() => ({ id: text, tool: text, args: json() }));
export type ToolCallStart = v.InferOutput<typeof ToolCallStart>;

/** One of the two streams, as it comes. */
export const ToolCallProgress = plain(() => ({ id: text, stdout: v.optional(text), stderr: v.optional(text) }));
export type ToolCallProgress = v.InferOutput<typeof ToolCallProgress>;

export const ToolCallEnd = plain(() => ({ id: text, result: text, success: v.boolean(), duration_ms: v.number() }));
export type ToolCallEnd = v.InferOutput<typeof ToolCallEnd>;

export const PermissionRequest = plain(() => ({
  id: text,
  tool: text,
  args: json(),
  risk: Risk,
  shown: v.optional(text),
}));

/** Totals of the session so far. */
export const CostUpdate = otterUpdates.usage_update;
export type CostUpdate = v.InferOutput<typeof CostUpdate>;

export const SandboxViolation = plain(() => metadata.sandbox_violation.entries);
export type SandboxViolation = v.InferOutput<typeof SandboxViolation>;

export const ApprovalChanged = plain(() => metadata.approval_changed.entries);
export type ApprovalChanged = v.InferOutput<typeof ApprovalChanged>;

/** `diff` is unified, so that an editor can apply or revert it in place. */
export const FileEdit = plain(() => metadata.file_edit.entries);
export type FileEdit = v.InferOutput<typeof FileEdit>;

export const FileOpen = plain(() => metadata.file_open.entries);
export type FileOpen = v.InferOutput<typeof FileOpen>;

export const Notice = plain(() => metadata.notice.entries);
export type Notice = v.InferOutput<typeof Notice>;

/** `id` names the message whose turn this was. */
export const TurnEnd = plain(() => ({ id: text, stop_reason: StopReason }));
export type TurnEnd = v.InferOutput<typeof TurnEnd>;

export const kinds = {
  agent_message_chunk: AgentMessageChunk,
  tool_call_start: ToolCallStart,
  tool_call_progress: ToolCallProgress,
  tool_call_end: ToolCallEnd,
  permission_request: PermissionRequest,
  sandbox_violation: SandboxViolation,
  approval_changed: ApprovalChanged,
  cost_update: CostUpdate,
  file_edit: FileEdit,
  file_open: FileOpen,
  notice: Notice,
  turn_end: TurnEnd,
};

/** What `update` holds: otter's kinds, and under the same name the kinds that otter does not have. */
export const SessionUpdate = variant("sessionUpdate", () => ({
  ...otterUpdates,
  tool_call_progress: ToolCallProgress,
  sandbox_violation: SandboxViolation,
  approval_changed: ApprovalChanged,
  file_edit: FileEdit,
  file_open: FileOpen,
  notice: Notice,
  turn_end: TurnEnd,
}));
export type SessionUpdate = v.InferOutput<typeof SessionUpdate>;

const frame = {
  sessionId: text,
  eventId: v.pipe(v.number(), v.integer(), v.minValue(1)),
  update: SessionUpdate,
};

// @__NO_SIDE_EFFECTS__
const framed = <E extends v.ObjectEntries>(payload: v.ObjectSchema<E, undefined>) =>
  plain(() => ({ ...payload.entries, ...frame }));

export const SessionNotification = variant("kind", () => ({
  agent_message_chunk: framed(AgentMessageChunk),
  tool_call_start: framed(ToolCallStart),
  tool_call_progress: framed(ToolCallProgress),
  tool_call_end: framed(ToolCallEnd),
  permission_request: framed(PermissionRequest),
  sandbox_violation: framed(SandboxViolation),
  approval_changed: framed(ApprovalChanged),
  cost_update: framed(CostUpdate),
  file_edit: framed(FileEdit),
  file_open: framed(FileOpen),
  notice: framed(Notice),
  turn_end: framed(TurnEnd),
}));
export type SessionNotification = v.InferOutput<typeof SessionNotification>;
