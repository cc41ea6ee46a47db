/** The text that a person edits: the cursor, the history, and suggestions. Independent of any screen. */
import type { Key } from "../terminal/keys.js";
import { plain } from "../terminal/text.js";

export interface Suggestion {
  /** Replaces the word. */
  readonly text: string;
  readonly description: string;
}

export interface Suggestions {
  /** Start of the word that they complete. */
  readonly from: number;
  readonly items: readonly Suggestion[];
}

export interface EditorOptions {
  /** Newest first. */
  readonly history: readonly string[];
  /** Suggests completions of the word before the cursor. */
  readonly suggest: (text: string, cursor: number) => Suggestions | null;
}

/** A paste that exceeds either of these is shown as a mark. */
const SHORT_PASTE = { lines: 6, characters: 800 };
/** Most characters in one entry. A longer paste is cut, and its mark says so. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

export function createEditor(options: EditorOptions) {
  let text = "";
  let cursor = 0;
  let killed = "";
  let past = [...options.history];
  /** Index of the history entry in the editor; -1 for the person's own text. */
  let at = -1;
  let draft = "";
  let menu: (Suggestions & { at: number }) | null = null;
  const pastes = new Map<string, string>();

  const replace = (from: number, to: number, by: string): void => {
    text = text.slice(0, from) + by + text.slice(to);
    cursor = from + by.length;
    suggest();
  };
  const kill = (from: number, to: number): void => {
    if (from < to) killed = text.slice(from, to);
    replace(from, to, "");
  };
  const move = (to: number): void => {
    cursor = Math.max(0, Math.min(text.length, to));
    menu = null;
  };
  const suggest = (): void => {
    const found = options.suggest(text, cursor);
    menu = found && found.items.length > 0 ? { ...found, at: 0 } : null;
  };
  const set = (value: string): void => {
    text = "";
    pastes.clear();
    replace(0, 0, "");
    insertPaste(value);
    menu = null;
  };
  const insertPaste = (pasted: string): void => {
    const value = pasted.slice(0, MOST_CHARACTERS);
    const lines = value.split("\n").length;
    if (lines <= SHORT_PASTE.lines && value.length <= SHORT_PASTE.characters) {
      replace(cursor, cursor, plain(value));
      return;
    }
    const size = lines > 1 ? `${lines} lines` : `${value.length} characters`;
    const cutOff = pasted.length > value.length ? ", cut" : "";
    const mark = `[paste ${pastes.size + 1}: ${size}${cutOff}]`;
    pastes.set(mark, value);
    replace(cursor, cursor, mark);
  };
  const recall = (step: number): void => {
    const next = at + step;
    if (next < -1 || next >= past.length) return;
    if (at === -1) draft = expanded();
    at = next;
    set(next === -1 ? draft : (past[next] ?? ""));
  };
  const expanded = (): string => {
    let whole = text;
    for (const [mark, value] of pastes) whole = whole.replace(mark, () => value);
    return whole;
  };
  const lineStart = (): number => text.slice(0, cursor).lastIndexOf("\n") + 1;
  const lineEnd = (): number => {
    const end = text.indexOf("\n", cursor);
    return end < 0 ? text.length : end;
  };
  const upOrDown = (step: -1 | 1): void => {
    if (menu) {
      menu.at = (menu.at + step + menu.items.length) % menu.items.length;
      return;
    }
    const column = cursor - lineStart();
    const edge = step < 0 ? lineStart() - 1 : lineEnd() + 1;
    if (edge < 0 || edge > text.length) recall(-step);
    else {
      cursor = edge;
      move(Math.min(lineStart() + column, lineEnd()));
    }
  };
  const accept = (): boolean => {
    const chosen = menu?.items[menu.at];
    if (!menu || !chosen) return false;
    replace(menu.from, cursor, chosen.text);
    menu = null;
    return true;
  };

  const KEYS: Readonly<Record<string, () => void>> = {
    left: () => move(before(text, cursor)),
    right: () => move(after(text, cursor)),
    "ctrl-left": () => move(wordBefore(text, cursor)),
    "ctrl-right": () => move(wordAfter(text, cursor)),
    home: () => move(lineStart()),
    end: () => move(lineEnd()),
    up: () => upOrDown(-1),
    down: () => upOrDown(1),
    "ctrl-p": () => recall(1),
    "ctrl-n": () => recall(-1),
    backspace: () => replace(before(text, cursor), cursor, ""),
    delete: () => replace(cursor, after(text, cursor), ""),
    "ctrl-w": () => kill(wordBefore(text, cursor), cursor),
    "alt-d": () => kill(cursor, wordAfter(text, cursor)),
    "ctrl-u": () => kill(lineStart(), cursor),
    "ctrl-k": () => kill(cursor, lineEnd() > cursor ? lineEnd() : Math.min(text.length, cursor + 1)),
    "ctrl-y": () => replace(cursor, cursor, killed),
    tab: () => void accept(),
    "ctrl-j": () => replace(cursor, cursor, "\n"),
  };

  return {
    get text() {
      return text;
    },
    get cursor() {
      return cursor;
    },
    get menu() {
      return menu;
    },
    get history(): readonly string[] {
      return past;
    },
    set,
    /** Updates the suggestions, because more may be known now. */
    suggest,
    closeMenu(): boolean {
      const was = menu !== null;
      menu = null;
      return was;
    },
    /** Enter: accepts the suggestion, or starts a new line after a backslash; otherwise returns the entry and clears the editor. */
    enter(): string | null {
      const word = menu && text.slice(menu.from, cursor);
      // A complete name is what the person means, even if a longer name begins with it.
      const isWhole = menu?.items.some((item) => item.text.trimEnd() === word);
      if (menu && !isWhole && accept()) return null;
      if (text[cursor - 1] === "\\") {
        replace(cursor - 1, cursor, "\n");
        return null;
      }
      const entry = expanded();
      set("");
      at = -1;
      return entry;
    },
    remember(entry: string): void {
      if (entry.trim() === "" || entry.length > LONGEST_REMEMBERED) return;
      past = [entry, ...past.filter((one) => one !== entry)].slice(0, MOST_REMEMBERED);
    },
    /** Returns false for a key without a function. */
    press(key: Key): boolean {
      if (key.kind === "text") replace(cursor, cursor, plain(key.text));
      else if (key.kind === "paste") insertPaste(key.text);
      else {
        const name = ALIASES[key.name] ?? key.name;
        if (!Object.hasOwn(KEYS, name)) return false;
        KEYS[name]?.();
      }
      return true;
    },
  };
}

// --- internal ---

const MOST_REMEMBERED = 500;
const LONGEST_REMEMBERED = 64 * 1024;

const ALIASES: Readonly<Record<string, string>> = {
  "ctrl-a": "home",
  "ctrl-e": "end",
  "ctrl-b": "left",
  "ctrl-f": "right",
  "alt-b": "ctrl-left",
  "alt-f": "ctrl-right",
  "alt-left": "ctrl-left",
  "alt-right": "ctrl-right",
  "alt-backspace": "ctrl-w",
  "ctrl-h": "backspace",
  "alt-enter": "ctrl-j",
  "shift-enter": "ctrl-j",
  "ctrl-enter": "ctrl-j",
};

const graphemes = new Intl.Segmenter();

/** Start of the grapheme before a position. */
function before(text: string, at: number): number {
  const from = Math.max(0, at - LONGEST_GRAPHEME);
  const last = [...graphemes.segment(text.slice(from, at))].at(-1);
  return last ? from + last.index : at;
}

function after(text: string, at: number): number {
  const [next] = graphemes.segment(text.slice(at, at + LONGEST_GRAPHEME));
  return at + (next?.segment.length ?? 0);
}

/** In code units. The cursor moves through longer graphemes in parts. */
const LONGEST_GRAPHEME = 64;

function wordBefore(text: string, at: number): number {
  return at - (/(?:\S+\s*|\s+)$/.exec(text.slice(Math.max(0, at - 1000), at))?.[0].length ?? 0);
}

function wordAfter(text: string, at: number): number {
  return at + (/^\s*\S*/.exec(text.slice(at, at + 1000))?.[0].length ?? 0);
}
