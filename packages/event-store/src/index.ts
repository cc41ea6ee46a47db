/** `@chimera/event-store`: an append-only, numbered, crash-proof event log per session. */
export { PAST_THE_END, parseCursor } from "./cursor.js";
export { describeLoss } from "./damage.js";
export { isStoreError, StoreError, type StoreErrorCode } from "./errors.js";
export { type Claim, claim, claimHolder } from "./file/claim.js";
export { writeEventFiles } from "./file/event-files.js";
export { createHeartbeat, type Heartbeat } from "./file/heartbeat.js";
export type { Holder } from "./file/identity.js";
export { createFileStore, type FileStoreOptions } from "./file-store.js";
export { LIMITS } from "./limits.js";
export { createMemoryStore, type MemoryStoreOptions } from "./memory-store.js";
export { isSessionId, makeSessionId, sessionPrefix, sessionTime } from "./session-id.js";
export type {
  Damage,
  Durability,
  Entry,
  EventBody,
  EventStore,
  ImportedLog,
  ListedSession,
  ListFilter,
  ListOptions,
  LogWriter,
  Position,
  Reader,
  StoreCapabilities,
  Stored,
  SubscribeOptions,
  Subscription,
  SummaryForm,
  TypeCounts,
} from "./types.js";
