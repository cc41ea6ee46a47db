/**
 * The hot path: a text delta's frame is cut from its record's line, so that the text is encoded once for the disk and every
 * client. The line's layout is fixed by the store: `…"metadata":{"text":"…"},…"ts":"…"}`.
 */
const BEFORE_TEXT = '"metadata":{"text":';

/** The JSON string literal of a delta's text, quotes included, as it stands in the line. */
export function encodedText(line: string): string {
  const start = line.indexOf(BEFORE_TEXT) + BEFORE_TEXT.length;
  // Inside a JSON string a quote is escaped, so the last `"},"` closes the text.
  return line.slice(start, line.lastIndexOf('"},"') + 1);
}
