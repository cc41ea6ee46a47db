import { isLost, type Lost, lostNotice, type SessionRecord } from "@chimera/acp-schema/events";
import { asShown } from "@chimera/acp-schema/parts";
import { ReportError } from "../errors.js";
import { headingOf } from "./heading.js";
import { renderHtml } from "./html.js";
import { renderMarkdown } from "./markdown.js";
import { narrate } from "./narrate.js";
import { createPace } from "./pace.js";
import { redactRecords } from "./redact-records.js";
import { createRedactor, type Redactor } from "./secrets.js";
import type { TranscriptSource } from "./source.js";

export const TRANSCRIPT_FORMATS = ["html", "md", "json"] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

const CONTENT_TYPES: Readonly<Record<TranscriptFormat, string>> = {
  html: "text/html; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  json: "application/json",
};

export interface RenderOptions {
  readonly format: TranscriptFormat;
  /** Secrets known by value, such as live tokens. Keys and tokens known by their form are always removed. */
  readonly secrets?: readonly string[];
}

/**
 * Parses a format from a query or a flag; `html` if there is none. Throws ReportError `invalid_format`.
 *
 * @example
 * parseFormat(undefined); // "html"
 */
export function parseFormat(text: unknown): TranscriptFormat {
  return oneOf(TRANSCRIPT_FORMATS, text, "format");
}

/** Finds a word in any case; the first word if there is no text. Throws ReportError `invalid_<what>`. */
export function oneOf<T extends string>(words: readonly [T, ...T[]], text: unknown, what: "format" | "sink"): T {
  if (text === undefined || text === null || text === "") return words[0];
  const found = words.find((word) => word === String(text).trim().toLowerCase());
  if (found !== undefined) return found;
  throw new ReportError(`invalid_${what}`, `${what} must be one of ${words.join(", ")}`);
}

/**
 * The media type of a transcript.
 *
 * @example
 * response.setHeader("Content-Type", contentType("md"));
 */
export function contentType(format: TranscriptFormat): string {
  return CONTENT_TYPES[format];
}

/**
 * Renders the session as a document without its secrets, in chunks while its log is read. Throws ReportError `invalid_format`.
 *
 * @example
 * for await (const text of renderTranscript(await openTranscript(store, id), { format: "md" })) out.write(text);
 */
export function renderTranscript(source: TranscriptSource, { format, secrets }: RenderOptions): AsyncIterable<string> {
  return render(source, parseFormat(format), createRedactor(secrets));
}

// --- internal ---

async function* render(source: TranscriptSource, format: TranscriptFormat, redactor: Redactor): AsyncGenerator<string> {
  const giveWay = createPace();
  const summary = await redactor.largeValue(source.summary, giveWay);
  const records = besideLost(source.events, (readable) => redactRecords(readable, redactor, giveWay));
  for await (const chunk of documentOf(format, source, summary, records)) {
    yield chunk;
    await giveWay();
  }
}

function documentOf(
  format: TranscriptFormat,
  { id }: TranscriptSource,
  summary: unknown,
  records: AsyncIterable<SessionRecord | Lost>,
): AsyncIterable<string> {
  switch (format) {
    case "json":
      return renderJson(id, summary, records);
    case "md":
      return renderMarkdown(headingOf(id, summary), narrate(records));
    case "html":
      return renderHtml(headingOf(id, summary), narrate(records));
  }
}

/** Renders `{session_id, summary, events}` event by event, with a notice for lost records, as over HTTP. */
async function* renderJson(
  id: string,
  summary: unknown,
  records: AsyncIterable<SessionRecord | Lost>,
): AsyncGenerator<string> {
  yield `{\n  "session_id": ${JSON.stringify(id)},\n  "summary": ${indent(summary, "  ")},\n  "events": [`;
  let separator = "\n    ";
  for await (const record of records) {
    yield separator + indent(isLost(record) ? lostNotice(record) : record, "    ");
    separator = ",\n    ";
  }
  yield separator.startsWith(",") ? "\n  ]\n}\n" : "]\n}\n";
}

/** Indents JSON. Newlines in it are only between tokens, so no value changes. */
function indent(value: unknown, by: string): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", `\n${by}`);
}

/** Changes the records but keeps lost entries in their places. A secret is found even if its pieces are on both sides of one. */
async function* besideLost(
  events: TranscriptSource["events"],
  change: (records: AsyncIterable<SessionRecord>) => AsyncIterable<SessionRecord>,
): AsyncGenerator<SessionRecord | Lost> {
  const lost: Lost[] = [];
  const readable = async function* () {
    for await (const event of events) {
      if (isLost(event)) lost.push(event);
      else yield asShown(event);
    }
  };
  for await (const record of change(readable())) {
    while (lost[0] && lost[0].seq < record.seq) yield lost.shift()!;
    yield record;
  }
  yield* lost;
}
