/**
 * Finds a passage in a text: first exactly, then as whole lines, where each rung ignores one more difference. The first rung that finds
 * any place decides. Similarity is never enough, because a similar passage may be a different one.
 */
import { AgentError } from "../../errors.js";
import { offThread } from "../off-thread.js";

/** How the text and the passage may differ. */
export type Rung = "exact" | "endings" | "ends" | "trailing" | "lookalikes" | "indentation" | "blanks";

export interface FoundPassage {
  readonly start: number;
  readonly end: number;
  /** Number of its first line, from 1. */
  readonly line: number;
}

export interface Found {
  readonly rung: Rung;
  /** At most `most + 1` places, which may overlap. */
  readonly places: readonly FoundPassage[];
  /** Whether the places may begin and end within lines. */
  readonly isWithin: boolean;
  /** Number of blank lines at the start and the end of the passage that the text does not have. The places leave them out. */
  readonly lead: number;
  readonly trail: number;
  /** If there is no place: the most similar lines of the text, with line numbers. */
  readonly near: string;
}

export interface SearchOptions {
  /** How many places the caller can use. */
  readonly most: number;
  /** Whether to find only whole lines. */
  readonly whole?: boolean;
  readonly signal: AbortSignal;
}

/** Throws `too_slow` when the search reaches its time limit. */
export async function findPassage(text: string, old: string, options: SearchOptions): Promise<Found> {
  const { most, whole = false, signal } = options;
  if (text.length <= SHORT_TEXT) return climb(text, old, most, whole, LONGEST_CLIMBED);
  return offThread(climb, [text, old, most, whole, LONGEST_CLIMBED], { signal, limitMs: LIMIT_MS }).catch(
    (cause: unknown) => {
      signal.throwIfAborted();
      throw new AgentError("too_slow", `The passage cannot be looked for: ${(cause as Error).message}.`, { cause });
    },
  );
}

// --- internal ---

/** Characters above which a text is searched on another thread. */
const SHORT_TEXT = 64 * 1024;
const LIMIT_MS = 5_000;
/** Characters above which only exact places are searched, because the text may have millions of lines. */
const LONGEST_CLIMBED = 4 * 1024 * 1024;

/** Runs on another thread for long texts, so it must not use anything from outside. */
function climb(text: string, old: string, most: number, isWhole: boolean, longest: number): Found {
  const marks: readonly (readonly [RegExp, string])[] = [
    [/[\u2018-\u201b\u2032\u02bc\uff07]/g, "'"],
    [/[\u201c-\u201f\u2033\uff02]/g, '"'],
    [/[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g, "-"],
    [/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " "],
    [/[\u200b\u2060\ufeff\u00ad]/g, ""],
    [/\u2026/g, "..."],
  ];
  const isAscii = (line: string) => !/[^\0-\x7f]/.test(line);
  const fold = (line: string) =>
    isAscii(line) ? line : marks.reduce((folded, [mark, plain]) => folded.replace(mark, plain), line.normalize("NFC"));
  // Blanks matter in a literal, between two words and between two operators. They do not matter around brackets and operators.
  const squeeze = (line: string) =>
    line
      .split(/("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)/)
      .map((part, at) => (at % 2 === 1 ? part : loosen(part)))
      .join("");
  const loosen = (part: string) =>
    part
      .replace(/\s+/g, " ")
      .replace(/ ?([()[\]{},;]) ?/g, "$1")
      .replace(/(?<![=+*%<>&|^!-]) (?=[=+*%<>&|^])|(?<=[=+*%<>&|^]) (?![=+*%<>&|^!-])/g, "");
  const rungs: readonly (readonly [Rung, (line: string) => string])[] = [
    ["ends", (line) => line],
    ["trailing", (line) => line.trimEnd()],
    ["lookalikes", (line) => fold(line).trimEnd()],
    ["indentation", (line) => fold(line).trim()],
    ["blanks", (line) => squeeze(fold(line).trim())],
  ];
  const flatten = (part: string) => part.replaceAll("\r\n", "\n");

  /** The places of a part, with their lines. */
  const occurrences = (within: string, part: string): FoundPassage[] => {
    const found: FoundPassage[] = [];
    let line = 1;
    let newline = within.indexOf("\n");
    for (let at = within.indexOf(part); at !== -1 && found.length <= most; at = within.indexOf(part, at + 1)) {
      for (; newline !== -1 && newline < at; newline = within.indexOf("\n", newline + 1)) line += 1;
      found.push({ start: at, end: at + part.length, line });
    }
    return found;
  };
  // A place must not begin between the two characters of a line ending.
  const exact = (isWhole ? [] : occurrences(text, old)).map((place) =>
    old.startsWith("\n") && text[place.start - 1] === "\r" ? { ...place, start: place.start - 1 } : place,
  );
  if (exact.length > 0) return { rung: "exact", places: exact, isWithin: true, lead: 0, trail: 0, near: "" };

  const flatOld = flatten(old);
  const flat = flatten(text);
  // Flattening removed carriage returns, so add the number of those before the place.
  const unflatten = (at: number): number => {
    let [seen, from] = [0, 0];
    for (let next = text.indexOf("\r\n"); next !== -1 && next - seen < at; next = text.indexOf("\r\n", from)) {
      seen += 1;
      from = next + 2;
    }
    return at + seen;
  };
  const ended = isWhole || (flat.length === text.length && flatOld === old) ? [] : occurrences(flat, flatOld);
  if (ended.length > 0) {
    const places = ended.map(({ start, end, line }) => ({ start: unflatten(start), end: unflatten(end), line }));
    return { rung: "endings", places, isWithin: true, lead: 0, trail: 0, near: "" };
  }

  const nothing = { rung: "blanks" as const, places: [], isWithin: false, lead: 0, trail: 0, near: "" };
  if (text.length > longest) return nothing;
  const key = (line: string) => fold(line).replace(/\s+/g, "");
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const keys = lines.map(key);
  const takesEnd = flatOld.endsWith("\n");
  const whole = (takesEnd ? flatOld.slice(0, -1) : flatOld).split("\n");
  const first = whole.findIndex((line) => key(line) !== "");
  const last = whole.findLastIndex((line) => key(line) !== "");
  if (first === -1) return nothing;

  /** The first lines of all passages that equal the wanted lines except for white space. */
  const alike = (wanted: readonly string[]): number[] => {
    const words = wanted.map(key);
    const anchor = words.findIndex((word) => word !== "");
    const starts: number[] = [];
    for (
      let at = keys.indexOf(words[anchor] as string);
      at !== -1;
      at = keys.indexOf(words[anchor] as string, at + 1)
    ) {
      if (words.every((word, offset) => keys[at - anchor + offset] === word)) starts.push(at - anchor);
    }
    return starts;
  };
  const bare = whole.slice(first, last + 1);
  for (const wanted of bare.length === whole.length ? [whole] : [whole, bare]) {
    const starts = alike(wanted);
    for (const [rung, plain] of rungs) {
      const words = wanted.map(plain);
      const fit = starts.filter((start) =>
        words.every((word, offset) => plain(lines[start + offset] as string) === word),
      );
      if (fit.length === 0) continue;
      const offsets: number[] = [0];
      for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) offsets.push(at + 1);
      const places = fit.slice(0, most + 1).map((start) => {
        const after = start + wanted.length;
        const end = (offsets[after - 1] as number) + (lines[after - 1] as string).length;
        // The last line of a text may have no line ending.
        const closed = takesEnd ? (offsets[after] ?? text.length) : end;
        return { start: offsets[start] as number, end: closed, line: start + 1 };
      });
      const isBare = wanted !== whole;
      return {
        rung,
        places,
        isWithin: false,
        lead: isBare ? first : 0,
        trail: isBare ? whole.length - 1 - last : 0,
        near: "",
      };
    }
  }
  // Search within lines, replacing only look-alikes of one character, so that positions stay the same.
  const same = marks.filter(([, plain]) => plain.length === 1);
  const alikeFold = (part: string) => same.reduce((folded, [mark, plain]) => folded.replace(mark, plain), part);
  const within = isWhole ? [] : occurrences(alikeFold(text), alikeFold(old));
  if (within.length > 0) return { ...nothing, rung: "lookalikes", isWithin: true, places: within };
  return { ...nothing, near: nearest() };

  /** The place with most of the same lines, or else the line most similar to the longest wanted one. For display, never for an edit. */
  function nearest(): string {
    const wanted = bare.map(key);
    const votes = new Map<number, number>();
    const at = new Map<string, number[]>();
    for (const [offset, word] of wanted.entries()) if (word.length > 2) at.set(word, [...(at.get(word) ?? []), offset]);
    for (const [line, word] of keys.entries()) {
      for (const offset of (at.get(word) ?? []).slice(0, 8)) {
        votes.set(line - offset, (votes.get(line - offset) ?? 0) + word.length);
      }
    }
    let [best, score] = [-1, 0];
    for (const [start, count] of votes) if (count > score) [best, score] = [start, count];
    if (best === -1) {
      const largest = wanted.reduce((a, b) => (b.length > a.length ? b : a));
      for (const [line, word] of keys.entries()) {
        const shared = sharedEnds(word, largest);
        if (shared > score) [best, score] = [line - wanted.indexOf(largest), shared];
      }
      if (score * 2 < largest.length) return "";
    }
    const from = Math.max(0, best - 1);
    const shown = lines.slice(from, best + Math.min(bare.length, 12) + 1);
    return shown.map((line, offset) => `${from + offset + 1}\t${line.slice(0, 300)}`).join("\n");
  }

  function sharedEnds(a: string, b: string): number {
    const most = Math.min(a.length, b.length, 1000);
    let head = 0;
    while (head < most && a[head] === b[head]) head += 1;
    let tail = 0;
    while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
    return head + tail;
  }
}
