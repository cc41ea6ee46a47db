/** `@chimera/run-reports`: read-only folds of session logs: lists, cost rollups, statistics, transcripts and ways to share them. */
export { isReportError, ReportError, type ReportErrorCode } from "./errors.js";
export { parseLimit, parseSince } from "./runs/query.js";
export {
  type CostRollup,
  type CostRow,
  costRollup,
  listRuns,
  type RunList,
  type RunRow,
  type Stats,
  stats,
} from "./runs/reports.js";
export type { RunQuery, RunStore } from "./runs/select.js";
export type { ModelTotals, Totals } from "./runs/totals.js";
export { type SearchHit, searchSessions } from "./search.js";
export { parseSink, type Shared, type ShareOptions, type ShareSink, share } from "./share/share.js";
export { TRANSCRIPT_CSP } from "./transcript/html.js";
export {
  contentType,
  parseFormat,
  type RenderOptions,
  renderTranscript,
  type TranscriptFormat,
} from "./transcript/render.js";
export { createRedactor, type Redactor } from "./transcript/secrets.js";
export { type LogStore, openTranscript, type TranscriptSource } from "./transcript/source.js";
