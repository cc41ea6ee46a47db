/** Maps records to the updates of native otter. The types that notify are fixed, because an event id counts the updates so far. */
import type { Decision, RecordOf, SessionRecord } from "@chimera/acp-schema/events";
import type { SessionUpdate } from "@chimera/acp-schema/otter";

/** Which records a native dialect shows, and the params of each besides the session and event id. */
export interface NativeProjection {
  /** The record types that notify. Each such record makes one update. */
  readonly types: ReadonlySet<string>;
  params(record: SessionRecord): object;
}

type Notifying =
  | "text_delta"
  | "tool_call"
  | "tool_result"
  | "usage"
  | "permission_request"
  | "question_asked"
  | "cancelled";

const updates: { [T in Notifying]: (record: RecordOf<T>) => SessionUpdate } = {
  text_delta: ({ metadata }) => ({
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: metadata.text },
  }),
  tool_call: ({ metadata }) => ({
    sessionUpdate: "tool_call",
    callId: metadata.call_id,
    tool: metadata.tool,
    input: metadata.args,
  }),
  tool_result: ({ metadata }) => ({
    sessionUpdate: "tool_result",
    callId: metadata.call_id,
    success: metadata.success,
    output: metadata.output,
    ...(metadata.error && { error: metadata.error }),
  }),
  usage: ({ metadata: { input, output, cache, reasoning, total_usd } }) => ({
    sessionUpdate: "usage_update",
    input,
    output,
    cache,
    reasoning,
    total_usd,
  }),
  permission_request: ({ metadata }) => ({
    sessionUpdate: "permission_request",
    requestId: metadata.permission_id,
    tool: metadata.tool,
    input: metadata.args,
    options: metadata.options.filter(isReply),
    ...(metadata.shown !== undefined && { shown: metadata.shown }),
  }),
  // This dialect can only ask for permission, so a question is sent as one; the answer is a text beside the allow.
  question_asked: ({ metadata: { question_id, question, options } }) => ({
    sessionUpdate: "permission_request",
    requestId: question_id,
    tool: "ask",
    input: { question, options: options.map(({ name }) => name) },
    options: ["allow", "deny"],
  }),
  cancelled: ({ metadata }) => ({
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: metadata.output },
    cancelled: true,
  }),
};

export const otterProjection: NativeProjection = {
  types: new Set(Object.keys(updates)),
  params: (record) => ({ update: otterUpdate(record) }),
};

/** otter's update for a record; null for a record that does not notify. */
export function otterUpdate(record: SessionRecord): SessionUpdate | null {
  const project = Object.hasOwn(updates, record.type) ? updates[record.type as Notifying] : undefined;
  return (project as ((record: SessionRecord) => SessionUpdate) | undefined)?.(record) ?? null;
}

// --- internal ---

function isReply(decision: Decision): decision is Exclude<Decision, "never"> {
  return decision !== "never";
}
