/**
 * Where a passage stands in a text. It is looked for exactly, then as whole lines that are equal but for one more thing on each
 * rung. The first rung that finds anything decides, and nothing is found by similarity: nearly the same is another thing.
 */
import { AgentError } from "../../errors.js";
import { offThread } from "../off-thread.js";

/** What the text and the passage differ in. */
export type Rung = "exact" | "endings" | "ends" | "trailing" | "lookalikes" | "indentation" | "blanks";

export interface FoundPassage {
  readonly start: number;
  readonly end: number;
  /** Of its first line, counted from 1. */
  readonly line: number;
}

export interface Found {
  readonly rung: Rung;
  /** At most one more than asked for; they may overlap. */
  readonly places: readonly FoundPassage[];
  /** Whether the places are parts of lines, and not whole ones. */
  readonly isWithin: boolean;
  /** Blank lines at the beginning and end of the passage that the text does not have; the places are without them. */
  readonly lead: number;
  readonly trail: number;
  /** Where no place is found: what stands where most of its lines do, with line numbers. */
  readonly near: string;
}

export interface SearchOptions {
  /** How many places are of interest. */
  readonly most: number;
  /** Whether only whole lines count. */
  readonly whole?: boolean;
  readonly signal: AbortSignal;
}

/** Throws `too_slow` for a text that takes too long. */
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

/** A longer text is searched on another thread. */
const SHORT_TEXT = 64 * 1024;
const LIMIT_MS = 5_000;
/** In a longer text only exact places are looked for: it may have millions of lines. */
const LONGEST_CLIMBED = 4 * 1024 * 1024;

/** May run on another thread: it uses nothing from outside. */
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
  // Blanks in a literal count, and so do those between two words or two operators; around brackets and operators they do not.
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

  /** Where a part stands, and on which line. */
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
  // Not between the two characters of one line ending.
  const exact = (isWhole ? [] : occurrences(text, old)).map((place) =>
    old.startsWith("\n") && text[place.start - 1] === "\r" ? { ...place, start: place.start - 1 } : place,
  );
  if (exact.length > 0) return { rung: "exact", places: exact, isWithin: true, lead: 0, trail: 0, near: "" };

  const flatOld = flatten(old);
  const flat = flatten(text);
  // Each line lost the carriage return at its end, so a place moves by those before it.
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

  /** The first lines of the passages whose words are those of the wanted lines, in whatever white space. */
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
        // The last line of a text may lack an end of its own.
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
  // A part of a line whose characters look alike, one for one, so that places stay what they are.
  const same = marks.filter(([, plain]) => plain.length === 1);
  const alikeFold = (part: string) => same.reduce((folded, [mark, plain]) => folded.replace(mark, plain), part);
  const within = isWhole ? [] : occurrences(alikeFold(text), alikeFold(old));
  if (within.length > 0) return { ...nothing, rung: "lookalikes", isWithin: true, places: within };
  return { ...nothing, near: nearest() };

  /** For people and models to look at, never to edit: the place with most of the same lines, else the line most like the longest. */
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
