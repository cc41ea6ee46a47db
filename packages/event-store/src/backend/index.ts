/**
 * `@chimera/event-store/backend`: what every store shares. A place to store logs is a {@link Backend}; {@link createStore} makes a
 * store of it, and the cases of `@chimera/event-store/conformance` test that store.
 *
 * @module
 */
export type { Backend, Copy, Held, Import, Watcher } from "./backend.js";
export { createStore, type StoreOptions } from "./create-store.js";
export { encodeLines, lineTs, ReplayedEntry, withChecksum } from "./line.js";
export { pageOf, type RowSource } from "./list.js";
export { batches, type Replay, type ReplayRange } from "./replay.js";
