import type { Frame } from "./frame.js";
import { parseError, readFrame } from "./guard.js";
import { defaultLimits, type Limits } from "./limits.js";
import { createLineSplitter, type LineSplitter } from "./line-splitter.js";

/** Bytes in, frames out, one call of `onFrame` per non-blank line. Limits: `maxLineBytes`, `maxDepth`. */
export function createFrameReader(
  onFrame: (frame: Frame) => void,
  limits: Partial<Pick<Limits, "maxLineBytes" | "maxDepth">> = {},
): LineSplitter {
  const { maxLineBytes, maxDepth } = { ...defaultLimits, ...limits };
  return createLineSplitter({
    maxLineBytes,
    onLine: (line) => onFrame(readFrame(line, maxDepth)),
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
