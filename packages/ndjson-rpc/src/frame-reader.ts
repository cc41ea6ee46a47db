import { constants } from "node:buffer";
import type { Frame } from "./frame.js";
import { mayHoldProtoKey, parseError, readFrame } from "./guard.js";
import { defaultLimits, type Limits } from "./limits.js";
import { createLineSplitter, type LineSplitter } from "./line-splitter.js";

/** Bytes in, frames out, one call of `onFrame` per non-blank line. Limits: `maxLineBytes`, `maxDepth`. */
export function createFrameReader(
  onFrame: (frame: Frame) => void,
  limits: Partial<Pick<Limits, "maxLineBytes" | "maxDepth">> = {},
): LineSplitter {
  const { maxDepth, ...given } = { ...defaultLimits, ...limits };
  const maxLineBytes = Math.min(given.maxLineBytes, constants.MAX_STRING_LENGTH);

  function readLines(text: string): void {
    const mayHoldProto = mayHoldProtoKey(text);
    for (let start = 0; start < text.length; ) {
      const newline = text.indexOf("\n", start);
      const end = newline === -1 ? text.length : newline;
      if (!isBlank(text, start, end)) onFrame(readFrame(text.slice(start, end), maxDepth, mayHoldProto));
      start = end + 1;
    }
  }

  return createLineSplitter({
    maxLineBytes,
    onLines: readLines,
    onFault: (fault) =>
      onFrame(
        parseError(
          fault === "too_long"
            ? `Parse error: the line is longer than ${maxLineBytes} bytes`
            : "Parse error: the line is not valid UTF-8",
        ),
      ),
  });
}

// --- internal ---

/** JSON white space only: a line of NBSP or a lone BOM is malformed, not blank. */
function isBlank(text: string, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0d) return false;
  }
  return true;
}
