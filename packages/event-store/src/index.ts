/** `@chimera/event-store`: an append-only, numbered, crash-proof event log per session. */
export { isStoreError, StoreError, type StoreErrorCode } from "./errors.js";
export type {
  Damage,
  Durability,
  Entry,
  EventBody,
  EventStore,
  ListedSession,
  ListOptions,
  LogWriter,
  Reader,
  StoreCapabilities,
  Stored,
  SubscribeOptions,
  Subscription,
  TypeCounts,
} from "./types.js";
