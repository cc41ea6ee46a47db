/** The methods of standard ACP and our own. `dialect.ts` repeats our own and the capabilities, which `initialize` needs first. */
import type { MethodTraits } from "../row.js";

export const METHODS = {
  authenticate: { remote: [] },
  logout: {},
  "session/new": {},
  "session/load": { remote: ["own", "brings_nothing"] },
  "session/resume": { capability: "resume", remote: ["own", "brings_nothing"] },
  "session/list": { capability: "list" },
  "session/fork": { capability: "fork" },
  "session/close": { capability: "close" },
  "session/delete": { capability: "delete" },
  "session/prompt": { remote: ["own", "plain_prompt"] },
  "session/cancel": { remote: ["own"] },
  "session/set_mode": { remote: ["own", "narrower_mode"] },
  "session/set_config_option": { remote: ["own", "narrower_option"] },
  "session/set_model": { remote: ["own", "unscripted_modelId"] },
  "session/set_title": { capability: "title" },
  "_chimera.dev/session/replay": { remote: ["own"] },
  "_chimera.dev/session/undo": { remote: ["own"] },
  "_chimera.dev/session/redo": { remote: ["own"] },
} as const satisfies MethodTraits;
