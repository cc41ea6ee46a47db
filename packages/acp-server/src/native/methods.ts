/** The methods of the native dialects. Only this file has their names. */
import type { MethodTraits } from "../row.js";

export const METHODS = {
  "session/new": {},
  "session/load": { remote: ["own", "brings_nothing"] },
  "session/list": {},
  "session/get": { remote: ["own"] },
  "session/message": { remote: ["own", "plain_prompt"] },
  "session/turn": { remote: ["own", "plain_prompt"] },
  "session/cancel": { remote: ["own"] },
  "session/setMode": {},
  "session/setModel": { remote: ["own", "unscripted_model"] },
  "session/fork": {},
  "session/resume": { remote: ["own", "brings_nothing"] },
  "permission/respond": { remote: ["own"] },
  "tool/approve": { remote: ["own"] },
} as const satisfies MethodTraits;
