/**
 * Splits growing markdown into blocks, each line looked at once. A block that a later line cannot change any more is closed, and is rendered
 * once, however long the message gets.
 */
export interface Block {
  /** `code` is a fenced block, without its fences. */
  readonly type: "markdown" | "code";
  readonly text: string;
  /** What follows the fence. */
  readonly language: string;
}

export type Blocks = ReturnType<typeof createBlocks>;

export function createBlocks() {
  const closed: Block[] = [];
  /** The whole lines of the open block, and the last line so far. */
  let lines: string[] = [];
  let size = 0;
  let rest = "";
  let fence: Fence | null = null;
  let isList = false;
  let isBlankBefore = false;

  const close = () => {
    const text = lines.join("\n");
    const { inList = false, language = "" } = fence ?? {};
    if (fence && !inList) closed.push({ type: "code", text, language });
    else if (text.trim() !== "") closed.push({ type: "markdown", text, language: "" });
    lines = [];
    size = 0;
    fence = null;
    isList = false;
  };
  const keep = (line: string) => {
    lines.push(line);
    size += line.length + 1;
  };
  const take = (line: string) => {
    if (fence) {
      if (!isEnd(line, fence)) return keep(line);
      if (!fence.inList) return close();
      fence = null;
      return keep(line);
    }
    const isBlank = line.trim() === "";
    const starts = fenceOf(line);
    const isItem = ITEM.test(line);
    const continues = isList && (isItem || /^\s/.test(line));
    // After an empty line only a list goes on; a long list is cut between its items, so that each piece stays small.
    if (!isBlank && isBlankBefore && !continues) close();
    else if (isList && /^\S/.test(line) && isItem && size > LIST_CHARS) close();
    isBlankBefore = isBlank;
    if (starts && !(isList && continues)) {
      close();
      fence = { ...starts, inList: false };
      return;
    }
    if (starts) fence = { ...starts, inList: true };
    if (size === 0 && isBlank) return;
    if (size === 0) isList = isItem;
    keep(line);
  };

  return {
    closed: closed as readonly Block[],
    /** The block that still grows, as it is now. */
    get open(): Block | null {
      if (size === 0 && rest === "" && !fence) return null;
      const text = [...lines, rest].join("\n");
      return fence && !fence.inList
        ? { type: "code", text, language: fence.language }
        : { type: "markdown", text, language: "" };
    },
    push(text: string) {
      const pieces = (rest + text).split("\n");
      rest = pieces.pop() ?? "";
      for (const line of pieces) take(line.endsWith("\r") ? line.slice(0, -1) : line);
    },
    /** Nothing follows: the open block is closed. */
    end() {
      if (rest !== "") take(rest);
      rest = "";
      close();
    },
  };
}

// --- internal ---

interface Fence {
  readonly mark: string;
  readonly language: string;
  readonly inList: boolean;
}

const LIST_CHARS = 2048;
const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;

function fenceOf(line: string): Omit<Fence, "inList"> | null {
  const [, mark, language = ""] = /^\s*(`{3,}|~{3,})\s*([\w+#.-]{0,40})[^`]*$/.exec(line.slice(0, 200)) ?? [];
  return mark === undefined ? null : { mark, language };
}

function isEnd(line: string, { mark }: Fence): boolean {
  const text = line.trim();
  return text.startsWith(mark) && text === mark.charAt(0).repeat(text.length);
}
