/** The bottom of a terminal that is drawn again and again, below lines that stay. Many changes are one write. */
import sliceAnsi from "slice-ansi";
import stringWidth from "string-width";

export interface Frame {
  readonly lines: readonly string[];
  /** Where the cursor stands, from the first of the lines; null hides it. */
  readonly cursor: { readonly row: number; readonly column: number } | null;
}

/** Frames this far apart look like a flow. */
const FRAME_MS = 33;
/** A terminal that has not taken this much yet is given no more to draw. */
const BEHIND_BYTES = 256 * 1024;
const HOME = "\r";
/** Terminals that know it show a frame at once; the others ignore it. */
const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";

/** @param compose what to draw, asked for once a frame. */
export function createLiveArea(output: NodeJS.WriteStream, compose: (columns: number, rows: number) => Frame) {
  let printed: string[] = [];
  let drawn: Frame = { lines: [], cursor: null };
  let timer: NodeJS.Timeout | undefined;
  let drawnAt = 0;
  let closed = false;

  const columns = () => output.columns || 80;
  const rows = () => output.rows || 24;

  /** Back to where the area begins, in a terminal that may have broken its lines anew since. */
  const erase = (): string => {
    const at = drawn.cursor ?? { row: drawn.lines.length - 1, column: stringWidth(drawn.lines.at(-1) ?? "") };
    const above = drawn.lines.slice(0, Math.max(0, at.row));
    const up = above.reduce(
      (sum, line) => sum + rowsOf(stringWidth(line), columns()),
      Math.floor(at.column / columns()),
    );
    return `${HOME}${up > 0 ? `\u001b[${up}A` : ""}\u001b[J`;
  };

  const draw = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (closed) return;
    if (output.writableLength > BEHIND_BYTES) {
      schedule(FRAME_MS);
      return;
    }
    drawnAt = performance.now();
    const next = fit(compose(columns(), rows()), columns(), rows());
    if (printed.length === 0 && isSame(next, drawn)) return;
    const text = printed.join("");
    printed = [];
    output.write(`${BEGIN}${erase()}${text}${place(next)}${END}`);
    drawn = next;
  };
  const schedule = (ms: number): void => {
    if (closed || timer) return;
    timer = setTimeout(draw, ms);
  };
  const onResize = (): void => {
    // What is drawn is taken away with the width it has now, and drawn anew.
    if (closed) return;
    output.write(erase());
    drawn = { lines: [], cursor: null };
    draw();
  };
  output.on("resize", onResize);

  return {
    /** Whole lines that stay; the text ends with a newline. */
    print(text: string): void {
      if (text === "" || closed) return;
      printed.push(text);
      schedule(Math.max(0, FRAME_MS - (performance.now() - drawnAt)));
    },
    /** Draws again soon. */
    changed: () => schedule(Math.max(0, FRAME_MS - (performance.now() - drawnAt))),
    /** Draws again with what else comes in now: somebody waits for it. */
    now(): void {
      clearTimeout(timer);
      timer = undefined;
      schedule(0);
    },
    /** Empties the screen. */
    clear(): void {
      output.write("\u001b[2J\u001b[H");
      drawn = { lines: [], cursor: null };
      draw();
    },
    /** Takes the area away; what was printed stays. */
    close(): void {
      if (closed) return;
      output.write(`${erase()}${printed.join("")}\u001b[?25h`);
      closed = true;
      clearTimeout(timer);
      output.off("resize", onResize);
    },
  };
}

// --- internal ---

/** The last lines that the screen has room for, none wider than it. */
function fit({ lines, cursor }: Frame, columns: number, rows: number): Frame {
  const hidden = Math.max(0, lines.length - Math.max(1, rows - 1));
  return {
    lines: lines
      .slice(hidden)
      .map((line) => (line.length < columns || stringWidth(line) < columns ? line : sliceAnsi(line, 0, columns - 1))),
    cursor: cursor && { row: Math.max(0, cursor.row - hidden), column: Math.min(cursor.column, columns - 1) },
  };
}

function place({ lines, cursor }: Frame): string {
  const text = lines.join("\n");
  if (!cursor) return `${text}\u001b[?25l`;
  const up = lines.length - 1 - cursor.row;
  return `${text}${HOME}${up > 0 ? `\u001b[${up}A` : ""}${cursor.column > 0 ? `\u001b[${cursor.column}C` : ""}\u001b[?25h`;
}

function isSame(a: Frame, b: Frame): boolean {
  return (
    a.lines.length === b.lines.length &&
    a.cursor?.row === b.cursor?.row &&
    a.cursor?.column === b.cursor?.column &&
    a.lines.every((line, at) => line === b.lines[at])
  );
}

function rowsOf(width: number, columns: number): number {
  return Math.max(1, Math.ceil(width / columns));
}
