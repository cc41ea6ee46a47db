/** Tool calls as a client shows them. */
import * as v from "valibot";
import { items, lenient, maybe, object, uint32, variant } from "../define/shape.js";
import { toolKinds } from "../define/tool-kinds.js";
import { ContentBlock } from "./content.js";
import { TerminalId, ToolCallId } from "./id.js";

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

/** A terminal made with `terminal/create`, shown live. */
export const Terminal = object(() => ({ terminalId: TerminalId }));
export type Terminal = v.InferOutput<typeof Terminal>;

export const ToolCallContent = variant("type", () => ({ content: Content, diff: Diff, terminal: Terminal }));
export type ToolCallContent = v.InferOutput<typeof ToolCallContent>;

/** A place the tool works at, so that an editor can follow. */
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

/** Only what changed; `content` and `locations` replace what was there. */
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
