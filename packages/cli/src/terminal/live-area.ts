/** The live area at the bottom of a terminal, which is redrawn below permanent lines. Several changes become one write. */
import sliceAnsi from "slice-ansi";
import stringWidth from "string-width";

export interface Frame {
  readonly lines: readonly string[];
  /** Position of the cursor, counted from the first line; null hides it. */
  readonly cursor: { readonly row: number; readonly column: number } | null;
}

/** Time between frames, short enough to look continuous. */
const FRAME_MS = 33;
/** While more bytes than this wait for a slow terminal, nothing is drawn. */
const BEHIND_BYTES = 256 * 1024;
const HOME = "\r";
/** Marks of a synchronized update: a terminal that supports them shows the frame at once; others ignore them. */
const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";

/** @param compose returns what to draw; called once per frame */
export function createLiveArea(output: NodeJS.WriteStream, compose: (columns: number, rows: number) => Frame) {
  let printed: string[] = [];
  let drawn: Frame = { lines: [], cursor: null };
  let timer: NodeJS.Timeout | undefined;
  let drawnAt = 0;
  let closed = false;

  const columns = () => output.columns || 80;
  const rows = () => output.rows || 24;

  /** Moves to the start of the area and clears it, considering that the terminal may have rewrapped its lines. */
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
    // Erase the area with its present width, and draw it again.
    if (closed) return;
    output.write(erase());
    drawn = { lines: [], cursor: null };
    draw();
  };
  output.on("resize", onResize);

  return {
    /** Prints permanent whole lines; the text must end with a newline. */
    print(text: string): void {
      if (text === "" || closed) return;
      printed.push(text);
      schedule(Math.max(0, FRAME_MS - (performance.now() - drawnAt)));
    },
    /** Redraws in the next frame. */
    changed: () => schedule(Math.max(0, FRAME_MS - (performance.now() - drawnAt))),
    /** Redraws right after the present input, because the person is waiting. */
    now(): void {
      clearTimeout(timer);
      timer = undefined;
      schedule(0);
    },
    /** Clears the screen. */
    clear(): void {
      output.write("\u001b[2J\u001b[H");
      drawn = { lines: [], cursor: null };
      draw();
    },
    /** Removes the area. The printed lines stay. */
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

/** The last lines that fit the screen, cut to its width. */
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
