/** The run API. A run is a session with one prompt, and has the session's id. */
import * as v from "valibot";
import { text } from "../define/scalar.js";
import { json, plain, variant } from "../define/shape.js";
import { Loss } from "./session.js";

/**
 * A part of a message.
 *
 * @property content_type The media type of the content; `text/plain` by default.
 * @property content The content as text.
 */
export const MessagePart = plain(() => ({ content_type: v.optional(text), content: text }));
export type MessagePart = v.InferOutput<typeof MessagePart>;

/**
 * A message of a run.
 *
 * @property role Who says it: `user` in the input, `agent` in the output.
 * @property parts The parts of the message, in their order.
 */
export const RunMessage = plain(() => ({ role: text, parts: v.array(MessagePart) }));
export type RunMessage = v.InferOutput<typeof RunMessage>;

/** `sync` waits for the end of the run, `async` answers at once, and `stream` answers with the events of the run. */
export const RunMode = v.picklist(["sync", "async", "stream"]);
export type RunMode = v.InferOutput<typeof RunMode>;

/** `POST /runs`. */
export const CreateRunBody = plain(() => ({
  /** The name of an agent of `GET /agents`. */
  agent_name: text,
  /** How the run is answered; `sync` by default. */
  mode: v.optional(RunMode),
  /** The messages whose text is the prompt. */
  input: v.pipe(v.array(RunMessage), v.minLength(1)),
}));
export type CreateRunBody = v.InferOutput<typeof CreateRunBody>;

/** How far a run is. */
export const RunStatus = v.picklist(["created", "in-progress", "completed", "failed", "cancelled"]);
export type RunStatus = v.InferOutput<typeof RunStatus>;

/** The answer of `GET /runs/{run_id}`, and of `POST /runs`: 200 when sync, 202 when async. */
export const Run = plain(() => ({
  /** The id of the run, which is that of its session. */
  run_id: text,
  /** The agent that runs, or that the last turn ran with. */
  agent_name: text,
  /** How far the run is. */
  status: RunStatus,
  /** The id of the run's session. */
  session_id: text,
  /** The answer; empty until the run has ended. */
  output: v.array(RunMessage),
  /** Why the run failed; null if it did not. */
  error: v.nullable(text),
  /** The time of the prompt. */
  created_at: text,
  /** The time of the end; null until then. */
  finished_at: v.nullable(text),
}));
export type Run = v.InferOutput<typeof Run>;

/** @property run The run as it was then. */
const about = () => plain(() => ({ run: Run }));

/** One event of a run, in a `data:` line of a stream or in the list of events. */
export const RunEvent = variant("type", () => ({
  /** The run was created. A stream leaves this event out. */
  run_created: about(),
  /** The turn of the run began. */
  run_in_progress: about(),
  /**
   * The next piece of the answer.
   *
   * @property message The message with the piece.
   */
  message_created: plain(() => ({ message: RunMessage })),
  /** The run ended successfully. */
  run_completed: about(),
  /** The run failed. */
  run_failed: about(),
  /** The run was cancelled. */
  run_cancelled: about(),
  /**
   * Replaces records of the log that cannot be read.
   *
   * @property generic The notice about the records.
   */
  generic: plain(() => ({ generic: Loss })),
}));
export type RunEvent = v.InferOutput<typeof RunEvent>;

/**
 * `GET /runs/{run_id}/events`.
 *
 * @property events The events of the run so far, in their order.
 */
export const RunEventsReply = plain(() => ({ events: v.array(RunEvent) }));
export type RunEventsReply = v.InferOutput<typeof RunEventsReply>;

/** `GET /agents/{name}`. */
export const AgentManifest = plain(() => ({
  /** The name by which a run chooses the agent. */
  name: text,
  /** What the agent is for. */
  description: text,
  /** The media types that the agent takes. */
  input_content_types: v.array(text),
  /** The media types that the agent answers with. */
  output_content_types: v.array(text),
  /** Further facts; empty at present. */
  metadata: json(),
}));
export type AgentManifest = v.InferOutput<typeof AgentManifest>;

/**
 * `GET /agents`.
 *
 * @property agents The agents, the program's own first.
 */
export const AgentsReply = plain(() => ({ agents: v.array(AgentManifest) }));
export type AgentsReply = v.InferOutput<typeof AgentsReply>;
