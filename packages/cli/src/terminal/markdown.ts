/** Markdown as it streams in, lightly coloured, a line at a time: nothing on the screen is ever taken back. */
import stringWidth from "string-width";
import type { Style } from "./style.js";
import { plain } from "./text.js";

/** @param width columns to wrap text at; undefined: never. Code is left as it is. */
export function createMarkdownStream(style: Style, width: () => number | undefined = () => undefined) {
  let pending = "";
  let fence: string | null = null;

  const draw = (line: string): string => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && (fence === null || (mark.startsWith(fence) && line.trim() === mark))) {
      fence = fence === null ? mark : null;
      return style.dim(line);
    }
    if (fence !== null) return style.cyan(line);
    return wrap(drawLine(line, style), width(), /^\s*(?:[-*+>]\s+|\d{1,9}[.)]\s+)?/.exec(line)?.[0].length ?? 0);
  };

  return {
    /** Returns what can be shown now. */
    write(text: string) {
      const lines = (pending + plain(text)).split("\n");
      pending = lines.pop() ?? "";
      return lines.map((line) => `${draw(line)}\n`).join("");
    },
    /** The line that is not complete yet. */
    pending: () => pending,
    /** The rest: a last line without a newline. */
    end() {
      const rest = pending === "" ? "" : draw(pending);
      pending = "";
      fence = null;
      return rest;
    },
  };
}

/**
 * Breaks a line between words; colours may run on across the break, for they end where the line ends.
 *
 * @param indent columns that further lines start at, so that an item of a list stays one block.
 */
export function wrap(line: string, width: number | undefined, indent: number): string {
  if (width === undefined || width < NARROWEST || stringWidth(line) <= width) return line;
  const start = " ".repeat(Math.min(indent, Math.floor(width / 2)));
  const lines: string[] = [];
  let current = "";
  let taken = 0;
  for (const word of line.split(/(?<=\S)(?=\s)/)) {
    const size = stringWidth(word);
    if (current.trim() !== "" && taken + size > width) {
      lines.push(current);
      current = start + word.trimStart();
      taken = stringWidth(current);
    } else {
      current += word;
      taken += size;
    }
  }
  return [...lines, current].join("\n");
}

// --- internal ---

/** Narrower screens are left to the terminal: words would hardly fit. */
const NARROWEST = 20;

const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const QUOTE = /^(\s*>\s?)(.*)$/;
const RULE = /^\s*([-*_])(?:\s*\1){2,}\s*$/;

function drawLine(line: string, style: Style): string {
  const heading = HEADING.exec(line);
  if (heading) return style.bold(drawInline(heading[2] ?? "", style));
  if (RULE.test(line)) return style.dim(line);
  const item = ITEM.exec(line);
  if (item) return `${item[1]}${style.cyan(item[2] ?? "")}${item[3]}${drawInline(item[4] ?? "", style)}`;
  const quote = QUOTE.exec(line);
  if (quote) return style.dim(`${quote[1]}${quote[2]}`);
  return drawInline(line, style);
}

/** Code first: what stands between backticks is not looked at again. */
function drawInline(text: string, style: Style): string {
  return text
    .split(/(`[^`]+`)/)
    .map((part, at) => (at % 2 === 1 ? style.cyan(part) : drawEmphasis(part, style)))
    .join("");
}

function drawEmphasis(text: string, style: Style): string {
  return text
    .replace(/\*\*(\S(?:[^*]*\S)?)\*\*/g, (_, inner: string) => style.bold(inner))
    .replace(/(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])/g, (_, inner: string) => style.italic(inner))
    .replace(/\[([^\]]+)\]\((\S+?)\)/g, (_, label: string, url: string) => `${style.underline(label)} (${url})`);
}
