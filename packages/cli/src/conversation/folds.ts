/** What a conversation shows in part: the whole of it is kept for a person who wants to see it. */
import { folded } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";
import { plain } from "../terminal/text.js";

/** Of what a failed command put out. */
const FAILED_LINES = 10;
const MOST_HIDDEN = 10;

interface FoldsOptions {
  readonly style: Style;
  readonly line: (text: string) => void;
  /** How a person sees what is folded; null folds nothing. */
  readonly more: string | null;
}

export function createFolds({ style, line, more }: FoldsOptions) {
  /** The last of it at the end. */
  const hidden: (readonly string[])[] = [];
  const hide = (lines: readonly string[]): void => {
    hidden.push(lines);
    if (hidden.length > MOST_HIDDEN) hidden.shift();
  };
  return {
    /** Keeps lines to be shown on demand. */
    hide,
    /** Prints the beginning and the end of long lines. */
    fold(lines: readonly string[], most: number): void {
      const note = (rest: number) => style.dim(`… ${rest} more lines, ${more} shows them`);
      const shown = more === null ? lines : folded(lines, most, note);
      if (shown.length < lines.length) hide(lines);
      for (const one of shown) line(one);
    },
    /** Prints the end of what a command put out before it failed. */
    tail(output: string): void {
      const text = plain(output).trimEnd();
      const lines = text === "" ? [] : text.split("\n");
      if (lines.length > FAILED_LINES) hide(lines.map((one) => `  ${one}`));
      for (const one of more === null ? lines : lines.slice(-FAILED_LINES)) line(style.dim(`  ${one}`));
    },
    /** Prints what was folded last; the next time, what was folded before it. */
    unfold(): void {
      for (const one of hidden.pop() ?? []) line(one);
    },
  };
}
