/** Maps records to the updates of native ferret: flat, distinguished by `kind`, with otter's `update` beside it. */
import type { RecordOf, SessionRecord } from "@chimera/acp-schema/events";
import { type NativeProjection, otterUpdate } from "./otter.js";

interface Kind {
  readonly kind: string;
  readonly payload: object;
}

type Projectors = { [T in SessionRecord["type"]]?: (record: RecordOf<T>) => Kind };

const projectors: Projectors = {
  text_delta: ({ metadata }) => ({ kind: "agent_message_chunk", payload: { text: metadata.text } }),
  cancelled: ({ metadata }) => ({ kind: "agent_message_chunk", payload: { text: metadata.output, cancelled: true } }),
  tool_call: ({ metadata: { call_id, tool, args } }) => ({
    kind: "tool_call_start",
    payload: { id: call_id, tool, args },
  }),
  tool_progress: ({ metadata: { call_id, stream, chunk } }) => ({
    kind: "tool_call_progress",
    payload: { id: call_id, [stream]: chunk },
  }),
  tool_result: ({ metadata: { call_id, success, output, error, duration_ms } }) => ({
    kind: "tool_call_end",
    payload: { id: call_id, result: success ? output : output || (error ?? ""), success, duration_ms },
  }),
  permission_request: ({ metadata: { permission_id, tool, args, risk, content, shown } }) => ({
    kind: "permission_request",
    payload: {
      id: permission_id,
      tool,
      args,
      risk,
      ...(content && { content }),
      ...(shown !== undefined && { shown }),
    },
  }),
  question_asked: ({ metadata: { question_id, question, options } }) => ({
    kind: "permission_request",
    payload: {
      id: question_id,
      tool: "ask",
      args: { question, options: options.map(({ name }) => name) },
      risk: "low",
    },
  }),
  sandbox_violation: ({ metadata }) => ({ kind: "sandbox_violation", payload: metadata }),
  approval_changed: ({ metadata }) => ({ kind: "approval_changed", payload: metadata }),
  usage: ({ metadata: { input, output, cache, reasoning, total_usd } }) => ({
    kind: "cost_update",
    payload: { input, output, cache, reasoning, total_usd },
  }),
  file_edit: ({ metadata }) => ({ kind: "file_edit", payload: metadata }),
  file_open: ({ metadata }) => ({ kind: "file_open", payload: metadata }),
  notice: ({ metadata }) => ({ kind: "notice", payload: metadata }),
  turn_end: ({ metadata, turn }) => ({
    kind: "turn_end",
    payload: { id: `msg-${turn}`, stop_reason: metadata.stop_reason },
  }),
};

export const ferretProjection: NativeProjection = {
  types: new Set(Object.keys(projectors)),
  params(record) {
    const project = projectors[record.type] as (record: SessionRecord) => Kind;
    const { kind, payload } = project(record);
    return { kind, ...payload, update: otterUpdate(record) ?? { sessionUpdate: kind, ...payload } };
  },
};
