/** Sessions in the native dialect. */
import * as v from "valibot";
import { plain } from "../define/shape.js";
import { SessionDetail } from "../http/session.js";

const sessionId = v.string();
const text = v.string();

export const SessionState = v.picklist(["idle", "running", "cancelled"]);
export type SessionState = v.InferOutput<typeof SessionState>;

/** What names one session and nothing else. */
export const SessionRef = plain(() => ({ sessionId }));
export type SessionRef = v.InferOutput<typeof SessionRef>;

/** `working_dir` is another name for `cwd`. `mode` names an agent. */
export const NewSessionRequest = plain(() => ({
  cwd: v.optional(text),
  working_dir: v.optional(text),
  model: v.optional(text),
  mode: v.optional(text),
}));

export const NewSessionResponse = plain(() => ({ sessionId, cwd: text }));

/** Nothing is replayed: that is what `session/resume` is for. */
export const LoadSessionResponse = plain(() => ({
  sessionId,
  cwd: text,
  agent: text,
  model: text,
  state: SessionState,
  lastEventId: v.pipe(v.number(), v.integer(), v.minValue(0)),
}));

export const ListSessionsRequest = plain(() => ({}));

export const ListedSession = plain(() => ({
  sessionId,
  cwd: text,
  title: v.nullable(text),
  updatedAt: text,
  model: v.nullable(text),
  state: v.nullable(SessionState),
}));
export type ListedSession = v.InferOutput<typeof ListedSession>;

export const ListSessionsResponse = plain(() => ({ sessions: v.array(ListedSession) }));

/** The body of `GET /sessions/{id}` in one frame: of a log too long for one, the newest events, and `truncated`. */
export const GetSessionResponse = plain(() => ({ sessionId, ...SessionDetail.entries, truncated: v.boolean() }));

/** `mode` names an agent: build, plan, explore, review, general or a file's. Answered with what is now set. */
export const SetModeRequest = plain(() => ({ sessionId, mode: text }));
export const SetModelRequest = plain(() => ({ sessionId, model: text }));

/** Copies everything up to the end of `turn` (0-based); the last one unless named. */
export const ForkSessionRequest = plain(() => ({
  sessionId,
  turn: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
}));

export const ForkSessionResponse = plain(() => ({ sessionId, parentId: text }));
