/** Session modes: named sets of behaviour that a client can switch. */
import * as v from "valibot";
import { maybe, object, requiredItems } from "../define/shape.js";
import { SessionId, SessionModeId } from "./id.js";

export const SessionMode = object(() => ({
  id: SessionModeId,
  name: v.string(),
  description: maybe(v.string()),
}));
export type SessionMode = v.InferOutput<typeof SessionMode>;

export const SessionModeState = object(() => ({
  currentModeId: SessionModeId,
  availableModes: requiredItems(SessionMode),
}));
export type SessionModeState = v.InferOutput<typeof SessionModeState>;

export const SetSessionModeRequest = object(() => ({ sessionId: SessionId, modeId: SessionModeId }));
export const SetSessionModeResponse = object(() => ({}));

export const CurrentModeUpdate = object(() => ({ currentModeId: SessionModeId }));
export type CurrentModeUpdate = v.InferOutput<typeof CurrentModeUpdate>;
