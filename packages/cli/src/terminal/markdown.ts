/** Shows Markdown while it streams: complete blocks are printed, and the incomplete block is redrawn with each piece. */
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import type { Style } from "./style.js";
import { plain } from "./text.js";

/** On a narrower screen the terminal wraps the text itself, because words would hardly fit. */
const NARROWEST = 20;
/** A longer paragraph is printed in parts of this size. */
const LONGEST_LINE = 16 * 1024;
const MOST_ROWS = 500;

/** @param width columns at which to wrap text; undefined for no wrapping. Code is not wrapped. */
export function createMarkdownStream(style: Style, width: () => number | undefined = () => undefined) {
  let pending = "";
  let fence: string | null = null;
  let table: string[] = [];

  /** Lines for the screen. A code fence prints nothing; table rows wait for the whole table. */
  const take = (line: string): string[] => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && (fence === null || (mark.startsWith(fence) && line.trim() === mark))) {
      const rows = endTable();
      fence = fence === null ? mark : null;
      return rows;
    }
    if (fence !== null) return [`  ${style.cyan(line)}`];
    if (ROW.test(line) && table.length < MOST_ROWS) {
      table.push(line);
      return [];
    }
    return [...endTable(), wrapped(line, style, width())];
  };
  const endTable = (): string[] => {
    const rows = table;
    table = [];
    if (rows.length === 0) return [];
    return RULE_ROW.test(rows[1] ?? "")
      ? drawTable(rows, style, width())
      : rows.map((row) => wrapped(row, style, width()));
  };
  const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

  return {
    /** Adds text. Returns the lines that are complete. */
    write(text: string): string {
      pending += plain(text);
      if (!text.includes("\n") && pending.length < LONGEST_LINE) return "";
      const lines = pending.split("\n");
      pending = lines.pop() ?? "";
      if (pending.length >= LONGEST_LINE) {
        const end = Math.max(pending.lastIndexOf(" "), 0) || pending.length;
        lines.push(pending.slice(0, end));
        pending = pending.slice(end);
      }
      return joined(lines.flatMap(take));
    },
    /** The lines of the incomplete block. */
    pending(): string[] {
      if (fence !== null) return pending === "" ? [] : [`  ${style.cyan(pending)}`];
      const line = pending === "" || /^\s*[`~|]+\s*$/.test(pending) ? [] : wrapped(pending, style, width()).split("\n");
      return [...table.map((row) => style.dim(row)), ...line];
    },
    /** Ends the text. Returns the rest. */
    end(): string {
      const lines = pending === "" ? [] : take(pending);
      lines.push(...endTable());
      pending = "";
      fence = null;
      return joined(lines);
    },
  };
}

/** Wraps text that is not Markdown. Each line keeps its indentation. */
export function plainLines(text: string, width: number | undefined): string {
  const lines = plain(text).replace(/\n$/, "").split("\n");
  return lines.map((line) => `${wrap(line.trimStart(), width, /^\s*/.exec(line)?.[0])}\n`).join("");
}

/**
 * Wraps a line between words. Breaks words that are longer than a line.
 *
 * @param lead the beginning of the first line. Further lines are indented by its width, so that a list item stays one block.
 */
export function wrap(line: string, width: number | undefined, lead = ""): string {
  if (width === undefined || width < NARROWEST) return lead + line;
  const indent = Math.min(stringWidth(lead), Math.floor(width / 2));
  return lead + wrapAnsi(line, width - indent, { hard: true }).replaceAll("\n", `\n${" ".repeat(indent)}`);
}

// --- internal ---

const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const QUOTE = /^(\s*>\s?)(.*)$/;
const RULE = /^\s*([-*_])(?:\s*\1){2,}\s*$/;
const ROW = /^\s*\|.*\S/;
const RULE_ROW = /^\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?\s*)?$/;

function wrapped(line: string, style: Style, width: number | undefined): string {
  const heading = HEADING.exec(line);
  if (heading) return wrap(style.bold(drawInline(heading[2] ?? "", style)), width);
  if (RULE.test(line)) return style.dim(line);
  const item = ITEM.exec(line);
  if (item) return wrap(drawInline(item[4] ?? "", style), width, `${item[1]}${style.cyan(item[2] ?? "")}${item[3]}`);
  const quote = QUOTE.exec(line);
  if (quote) return wrap(style.dim(quote[2] ?? ""), width, style.dim(quote[1] ?? ""));
  const [lead = ""] = /^\s*/.exec(line) ?? [];
  return wrap(drawInline(line.slice(lead.length), style), width, lead);
}

const GAP = "  ";

/** Makes columns as wide as their cells. If they do not fit, narrows the widest columns and wraps their cells. */
function drawTable(rows: readonly string[], style: Style, width: number | undefined): string[] {
  const cells = rows.filter((_, at) => at !== 1).map((row) => cellsOf(row).map((cell) => drawInline(cell, style)));
  const count = Math.max(...cells.map((row) => row.length));
  const columns = Array.from({ length: count }, (_, at) =>
    Math.max(1, ...cells.map((row) => stringWidth(row[at] ?? ""))),
  );
  const room = (width ?? Number.POSITIVE_INFINITY) - GAP.length * (count - 1);
  for (let over = columns.reduce((sum, one) => sum + one, 0) - room; over > 0; over--) {
    const widest = columns.indexOf(Math.max(...columns));
    if ((columns[widest] ?? 0) <= 3) break;
    columns[widest] = (columns[widest] ?? 0) - 1;
  }
  const draw = (row: readonly string[], paint: (text: string) => string): string[] => {
    const parts = columns.map((size, at) => wrapAnsi(row[at] ?? "", size, { hard: true }).split("\n"));
    const height = Math.max(...parts.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) =>
      parts
        .map((lines, at) => {
          const text = lines[line] ?? "";
          return paint(text) + " ".repeat(Math.max(0, (columns[at] ?? 0) - stringWidth(text)));
        })
        .join(GAP)
        .trimEnd(),
    );
  };
  const [head = [], ...body] = cells;
  const rule = style.dim(columns.map((size) => "─".repeat(size)).join(GAP));
  return [...draw(head, style.bold), rule, ...body.flatMap((row) => draw(row, (text) => text))];
}

function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Draws code first, so that its text is not read as emphasis. Backticks stay if there are no colours to mark code. */
function drawInline(text: string, style: Style): string {
  const code = (part: string) => (style.cyan("x") === "x" ? part : style.cyan(part.slice(1, -1)));
  return text
    .split(/(`[^`]+`)/)
    .map((part, at) => (at % 2 === 1 ? code(part) : drawEmphasis(part, style)))
    .join("");
}

function drawEmphasis(text: string, style: Style): string {
  return text
    .replace(/\*\*(\S(?:[^*]*\S)?)\*\*/g, (_, inner: string) => style.bold(inner))
    .replace(/(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])/g, (_, inner: string) => style.italic(inner))
    .replace(/\[([^\]]+)\]\((\S+?)\)/g, (_, label: string, url: string) => `${style.underline(label)} (${url})`);
}
