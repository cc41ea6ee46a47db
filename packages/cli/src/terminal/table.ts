/** Rows of text in aligned columns, by how wide characters are shown. */
import { cut } from "./cut.js";
import { plainLine } from "./plain.js";
import { measureFor } from "./width.js";

export interface Column<Row> {
  readonly title: string;
  /** The column is this wide; longer texts are cut. Absent: as wide as it needs to be. */
  readonly width?: number;
  readonly align?: "left" | "right";
  readonly cell: (row: Row) => string;
}

/** Header and rows, one per line, without a trailing blank. `maxWidth` cuts lines for a narrow terminal. */
export async function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  maxWidth?: number,
): Promise<string[]> {
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
    return maxWidth === undefined ? joined : cut(joined, maxWidth, widthOf);
  };
  return [draw(columns.map(({ title }) => title)), ...cells.map(draw)];
}
