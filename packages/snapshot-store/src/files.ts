/** `@chimera/snapshot-store/files`: what undo needs for the files of a workspace and other tools need, too. */
export { type IgnoreRules, readIgnoreFile, rulesBelow } from "./baseline/ignore-rules.js";
export { unifiedHunks } from "./diff/hunks.js";
export { lineChanges } from "./diff/line-changes.js";
export { createPacer, type Pacer } from "./pacer.js";
export { draftName, sweepDrafts } from "./workspace/drafts.js";
