/** Tool calls that a client shows, and requests for permission. */
import * as v from "valibot";
import { items, lenient, maybe, object, plain, tagged, uint32, variant } from "../define/shape.js";
import { toolKinds } from "../define/tool-kinds.js";
import { ContentBlock } from "./content.js";
import { PermissionOptionId, SessionId, TerminalId, ToolCallId } from "./id.js";

// Tool calls that a client shows.

export const ToolKind = v.picklist(toolKinds);
export type ToolKind = v.InferOutput<typeof ToolKind>;

export const ToolCallStatus = v.picklist(["pending", "in_progress", "completed", "failed"]);
export type ToolCallStatus = v.InferOutput<typeof ToolCallStatus>;

export const Content = object(() => ({ content: ContentBlock }));
export type Content = v.InferOutput<typeof Content>;

/** `oldText` is absent or null for a new file. */
export const Diff = object(() => ({
  path: v.string(),
  oldText: maybe(v.string()),
  newText: v.string(),
}));
export type Diff = v.InferOutput<typeof Diff>;

/** The live output of a terminal that was made with `terminal/create`. */
export const Terminal = object(() => ({ terminalId: TerminalId }));
export type Terminal = v.InferOutput<typeof Terminal>;

export const ToolCallContent = variant("type", () => ({ content: Content, diff: Diff, terminal: Terminal }));
export type ToolCallContent = v.InferOutput<typeof ToolCallContent>;

/** A place in a file where the tool works, so that an editor can follow. */
export const ToolCallLocation = object(() => ({ path: v.string(), line: maybe(uint32()) }));
export type ToolCallLocation = v.InferOutput<typeof ToolCallLocation>;

export const ToolCall = object(() => ({
  toolCallId: ToolCallId,
  title: v.string(),
  name: maybe(v.string()),
  kind: lenient(ToolKind),
  status: lenient(ToolCallStatus),
  content: lenient(items(ToolCallContent), () => []),
  locations: lenient(items(ToolCallLocation), () => []),
  rawInput: lenient(v.unknown()),
  rawOutput: lenient(v.unknown()),
}));
export type ToolCall = v.InferOutput<typeof ToolCall>;

/** The changed fields of a call. `content` and `locations` replace the earlier ones. */
export const ToolCallUpdate = object(() => ({
  toolCallId: ToolCallId,
  kind: maybe(ToolKind),
  status: maybe(ToolCallStatus),
  title: maybe(v.string()),
  name: maybe(v.string()),
  content: maybe(items(ToolCallContent)),
  locations: maybe(items(ToolCallLocation)),
  rawInput: lenient(v.unknown()),
  rawOutput: lenient(v.unknown()),
}));
export type ToolCallUpdate = v.InferOutput<typeof ToolCallUpdate>;

// Requests for permission, which ask the person at the client whether a tool may run.

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

/** `cancelled` answers every unanswered request of a cancelled turn. */
export const RequestPermissionOutcome = v.variant("outcome", [
  plain(() => ({ outcome: v.literal("cancelled") })),
  tagged("outcome", "selected", SelectedPermissionOutcome),
]);
export type RequestPermissionOutcome = v.InferOutput<typeof RequestPermissionOutcome>;

export const RequestPermissionResponse = object(() => ({ outcome: RequestPermissionOutcome }));
export type RequestPermissionResponse = v.InferOutput<typeof RequestPermissionResponse>;
