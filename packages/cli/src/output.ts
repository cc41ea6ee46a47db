/** The output of commands: lines for a person, or one JSON document for a program. */
import type { Invocation } from "@chimera/host";
import { isSet } from "./flags.js";
import { createStyle, type Style, wantsColor } from "./terminal/style.js";
import { cut, measureFor, plainLine } from "./terminal/text.js";

export function printJson({ process }: Invocation, value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLines({ process }: Invocation, lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** Prints a command's result as JSON or lines. Returns the exit code of a success. */
export function printReport(invocation: Invocation, report: unknown, lines: readonly string[]): 0 {
  if (isSet(invocation.flags, "json", "sessions")) printJson(invocation, report);
  else printLines(invocation, lines);
  return 0;
}

/** Uses colours if the person's settings and the stream allow them. */
export function styleFor({ flags, process }: Invocation, stream: NodeJS.WriteStream = process.stdout): Style {
  return createStyle(!isSet(flags, "no-color") && wantsColor(process.env, stream));
}

export interface Column<Row> {
  readonly title: string;
  /** Width of the column; longer texts are cut. @defaultValue the width of its longest text */
  readonly width?: number;
  readonly align?: "left" | "right";
  readonly cell: (row: Row) => string;
}

/** Prints a header and rows in aligned columns, measured by the width of characters. Cuts lines for a terminal, but not for a pipe. */
export async function printTable<Row>(
  invocation: Invocation,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Promise<void> {
  const { columns: screen } = invocation.process.stdout;
  const cells = rows.map((row) => columns.map((column) => plainLine(column.cell(row))));
  const widthOf = await measureFor(cells.flat());
  const widths = columns.map(
    ({ title, width }, at) => width ?? Math.max(title.length, ...cells.map((line) => widthOf(line[at] ?? ""))),
  );
  const draw = (texts: readonly string[]): string => {
    const line = columns.map(({ align }, at) => {
      const width = widths[at] ?? 0;
      const text = cut(texts[at] ?? "", width, widthOf);
      const space = " ".repeat(Math.max(0, width - widthOf(text)));
      return align === "right" ? space + text : text + space;
    });
    const joined = line.join("  ").trimEnd();
    return screen ? cut(joined, screen, widthOf) : joined;
  };
  printLines(invocation, [draw(columns.map(({ title }) => title)), ...cells.map(draw)]);
}

/** Prints a list as JSON or a table. Returns the exit code of a success. */
export async function printList<Row>(
  invocation: Invocation,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  json: unknown = rows,
): Promise<0> {
  if (isSet(invocation.flags, "json", "sessions")) printJson(invocation, json);
  else await printTable(invocation, columns, rows);
  return 0;
}

export type Progress = ReturnType<typeof createProgress>;

/** Shows the progress of long work on one line of stderr, with a bar if the end is known. Prints nothing unless stderr is a terminal. */
export function createProgress(stderr: NodeJS.WriteStream, label: string, clock = Date.now) {
  let shownAt = clock();
  let shown = false;
  return {
    update(done: number, total?: number) {
      const now = clock();
      if (!stderr.isTTY || now - shownAt < EVERY_MS) return;
      shownAt = now;
      shown = true;
      const filled = total ? Math.min(BAR, Math.floor((BAR * done) / total)) : 0;
      const bar = total ? ` ${"█".repeat(filled)}${"░".repeat(BAR - filled)}` : "";
      stderr.write(`\r\u001b[K${label}${bar} ${done}${total ? ` of ${total}` : ""}`);
    },
    /** Removes the line. */
    end() {
      if (shown) stderr.write("\r\u001b[K");
      shown = false;
    },
  };
}

// --- internal ---

const EVERY_MS = 100;
/** Width in cells. With a label and two numbers the line still fits a narrow screen. */
const BAR = 24;
