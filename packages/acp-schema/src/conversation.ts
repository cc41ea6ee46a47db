/** `@chimera/acp-schema/conversation`: the fold of a session's log. Pure, works in a browser, and loads no schema. */
export { type Conversation, foldConversation, type Mark } from "./events/conversation.js";
export { createUpgrade, upgradeMetadata } from "./events/entry.js";
export type { ChangedSettings, Facts } from "./events/fold.js";
export { createJoin, type Join, type JoinedRecord } from "./events/join.js";
export {
  DECISION_OF,
  ENGINE_OPTION,
  FLAG_OPTIONS,
  type FlagOption,
  type Flags,
  isFlagOption,
  MODE_FLAGS,
  MODES,
  type Mode,
  modeOf,
} from "./events/modes.js";
export type { SessionUsage, TurnResult, TurnUsage, TurnView } from "./events/turn-view.js";
