/** `@chimera/run-reports`: read-only reports on session logs: lists, costs, statistics, and transcripts and their sharing. */
export { isReportError, ReportError, type ReportErrorCode } from "./errors.js";
export {
  type CostRollup,
  type CostRow,
  costRollup,
  listRuns,
  type ModelTotals,
  type RunList,
  type RunRow,
  type Stats,
  stats,
  type Totals,
} from "./runs/reports.js";
export { parseLimit, parseSince, type RunQuery, type RunStore } from "./runs/select.js";
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
