/** `@chimera/event-store`: an append-only, numbered, crash-proof event log per session. */

export { wellFormed } from "./backend/line.js";
export { comparePlaces, formatPageEnd, type PageEnd, parsePageEnd } from "./backend/list.js";
export { describeHolder, type Holder } from "./claim/identity.js";
export { PAST_THE_END, parseCursor } from "./cursor.js";
export { isStoreError, StoreError, type StoreErrorCode } from "./errors.js";
export { writeEventFiles } from "./file/event-files.js";
export { createFileStore, type FileStoreOptions } from "./file/file-store.js";
export { LIMITS } from "./limits.js";
export { createMemoryStore, type MemoryStoreOptions } from "./memory-store.js";
export { isSessionId, makeSessionId, sessionPrefix, sessionTime } from "./session-id.js";
export type {
  Appended,
  Durability,
  Entry,
  EventBody,
  EventStore,
  ImportedLog,
  ListedSession,
  ListFilter,
  ListOptions,
  LogEntry,
  LogWriter,
  Lost,
  Position,
  Reader,
  Stored,
  SubscribeOptions,
  Subscription,
  SummaryForm,
} from "./types.js";
