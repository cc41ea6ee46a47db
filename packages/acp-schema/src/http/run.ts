/** The run API. A run is a session with one prompt, and has the session's id. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { json, plain, variant } from "../define/shape.js";
import { Loss } from "./stream.js";

/** `content_type` is text/plain by default. */
export const MessagePart = plain(() => ({ content_type: v.optional(text), content: text }));
export type MessagePart = v.InferOutput<typeof MessagePart>;

export const RunMessage = plain(() => ({ role: text, parts: v.array(MessagePart) }));
export type RunMessage = v.InferOutput<typeof RunMessage>;

export const RunMode = v.picklist(["sync", "async", "stream"]);
export type RunMode = v.InferOutput<typeof RunMode>;

/** `POST /runs`. `mode` is `sync` by default. */
export const CreateRunBody = plain(() => ({
  agent_name: text,
  mode: v.optional(RunMode),
  input: v.pipe(v.array(RunMessage), v.minLength(1)),
}));
export type CreateRunBody = v.InferOutput<typeof CreateRunBody>;

export const RunStatus = v.picklist(["created", "in-progress", "completed", "failed", "cancelled"]);
export type RunStatus = v.InferOutput<typeof RunStatus>;

/** The answer of `GET /runs/{run_id}`, and of `POST /runs`: 200 when sync, 202 when async. */
export const Run = plain(() => ({
  run_id: text,
  agent_name: text,
  status: RunStatus,
  session_id: text,
  output: v.array(RunMessage),
  error: v.nullable(text),
  created_at: text,
  finished_at: v.nullable(text),
}));
export type Run = v.InferOutput<typeof Run>;

const about = () => plain(() => ({ run: Run }));

/** One event of a run, in a `data:` line of a stream or in the list of events. */
export const RunEvent = variant("type", () => ({
  run_created: about(),
  run_in_progress: about(),
  message_created: plain(() => ({ message: RunMessage })),
  run_completed: about(),
  run_failed: about(),
  run_cancelled: about(),
  /** Replaces records of the log that cannot be read. */
  generic: plain(() => ({ generic: Loss })),
}));
export type RunEvent = v.InferOutput<typeof RunEvent>;

/** `GET /runs/{run_id}/events`. */
export const RunEventsReply = plain(() => ({ events: v.array(RunEvent) }));
export type RunEventsReply = v.InferOutput<typeof RunEventsReply>;

/** `GET /agents/{name}`. */
export const AgentManifest = plain(() => ({
  name: text,
  description: text,
  input_content_types: v.array(text),
  output_content_types: v.array(text),
  metadata: json(),
}));
export type AgentManifest = v.InferOutput<typeof AgentManifest>;

/** `GET /agents`. */
export const AgentsReply = plain(() => ({ agents: v.array(AgentManifest) }));
export type AgentsReply = v.InferOutput<typeof AgentsReply>;
