/** Rows of text in aligned columns, by how wide characters are shown. */
import stringWidth from "string-width";
import { plainLine } from "./plain.js";

export interface Column<Row> {
  readonly title: string;
  /** The column is this wide; longer texts are cut. Absent: as wide as it needs to be. */
  readonly width?: number;
  readonly align?: "left" | "right";
  readonly cell: (row: Row) => string;
}

/** Header and rows, one per line, without a trailing blank. `maxWidth` cuts lines for a narrow terminal. */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], maxWidth?: number): string[] {
  const cells = rows.map((row) => columns.map((column) => plainLine(column.cell(row))));
  const widths = columns.map(
    ({ title, width }, at) => width ?? Math.max(title.length, ...cells.map((line) => stringWidth(line[at] ?? ""))),
  );
  const draw = (texts: readonly string[]): string => {
    const line = columns.map(({ align }, at) => {
      const width = widths[at] ?? 0;
      const text = cut(texts[at] ?? "", width);
      const space = " ".repeat(Math.max(0, width - stringWidth(text)));
      return align === "right" ? space + text : text + space;
    });
    const joined = line.join("  ").trimEnd();
    return maxWidth === undefined ? joined : cut(joined, maxWidth);
  };
  return [draw(columns.map(({ title }) => title)), ...cells.map(draw)];
}

/** At most `width` columns, the last one an ellipsis when something is missing. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = "";
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += stringWidth(segment);
    if (taken > width - 1) break;
    kept += segment;
  }
  return width > 0 ? `${kept}…` : "";
}
