/** Sessions that an agent starts by itself, and the messages between them. */
import * as v from "valibot";
import { ContentBlock } from "../acp/content.js";
import { Error as AcpError } from "../acp/error.js";
import { MessageId, SessionId } from "../acp/id.js";
import { items, lenient, maybe, meta, object, open, otherThan, plain, uint64, variant } from "../define/shape.js";

/** The usage of a turn. */
export const Usage = object(() => ({
  totalTokens: uint64(),
  inputTokens: uint64(),
  outputTokens: uint64(),
  thoughtTokens: maybe(uint64()),
  cachedReadTokens: maybe(uint64()),
  cachedWriteTokens: maybe(uint64()),
}));
export type Usage = v.InferOutput<typeof Usage>;

export const SessionCancelCapabilities = object(() => ({}));
export const SubagentSessionCapabilities = object(() => ({ cancel: maybe(SessionCancelCapabilities) }));
export const RunningStateUpdate = object(() => ({}));
export const RequiresActionStateUpdate = object(() => ({}));
export const UnknownStateUpdate = object(() => ({}));

export const ErrorStopReason = plain(() => ({ error: maybe(AcpError) }));
export type ErrorStopReason = v.InferOutput<typeof ErrorStopReason>;

const reasons = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] as const;

/** The four kinds of idle state: for a known reason, after an error, for a custom reason, and for no reason. */
// @__NO_SIDE_EFFECTS__
function idle<E extends v.ObjectEntries>(tag: () => E) {
  const common = () => ({ ...tag(), usage: maybe(Usage) });
  return [
    ...reasons.map((reason) => object(() => ({ ...common(), stopReason: v.literal(reason) }))),
    object(() => ({ ...common(), stopReason: v.literal("error"), ...ErrorStopReason.entries })),
    open(() => ({ ...common(), ...meta(), stopReason: otherThan(...reasons, "error") })),
    object(() => ({ ...common(), stopReason: lenient(v.null()) })),
  ];
}

export const IdleStateUpdate = v.union(idle(() => ({})));
export type IdleStateUpdate = v.InferOutput<typeof IdleStateUpdate>;

export const StateUpdate = v.union([
  variant("state", () => ({
    running: RunningStateUpdate,
    requires_action: RequiresActionStateUpdate,
    unknown: UnknownStateUpdate,
  })),
  ...idle(() => ({ state: v.literal("idle") })),
  open(() => ({ state: otherThan("running", "idle", "requires_action", "unknown") })),
]);
export type StateUpdate = v.InferOutput<typeof StateUpdate>;

export const SubagentUpdate = object(() => ({
  sessionId: SessionId,
  title: maybe(v.string()),
  description: maybe(v.string()),
  capabilities: maybe(SubagentSessionCapabilities),
  state: maybe(StateUpdate),
  cwd: v.nullish(v.string()),
  additionalDirectories: v.nullish(v.array(v.string())),
}));
export type SubagentUpdate = v.InferOutput<typeof SubagentUpdate>;

export const SessionMessage = object(() => ({
  messageId: MessageId,
  senderSessionId: maybe(SessionId),
  recipientSessionId: maybe(SessionId),
  senderMessageId: maybe(MessageId),
  recipientMessageId: maybe(MessageId),
  content: maybe(items(ContentBlock)),
}));
export type SessionMessage = v.InferOutput<typeof SessionMessage>;

export const SessionMessageChunk = object(() => ({ messageId: MessageId, content: ContentBlock }));
export type SessionMessageChunk = v.InferOutput<typeof SessionMessageChunk>;
