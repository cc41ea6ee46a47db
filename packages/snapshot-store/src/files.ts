/** `@chimera/snapshot-store/files`: the parts of undo that other tools for workspace files also use. */
export { type IgnoreRules, readIgnoreFile, rulesBelow } from "./baseline/ignore-rules.js";
export { unifiedHunks } from "./diff/hunks.js";
export { lineChanges } from "./diff/line-changes.js";
export { createPacer, type Pacer } from "./pacer.js";
export { draftName, sweepDrafts } from "./workspace/drafts.js";
