/**
 * Climbs from an exact search for a passage to searches that ignore more and more differences. A long text is searched on another thread,
 * to which the functions of this file are sent as source text. So they use nothing from outside the file, keep their tables inside, and
 * are all in `climbers`.
 */

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

export interface Wanted {
  readonly old: string;
  /** How many places the caller can use. */
  readonly most: number;
  /** Whether to find only whole lines. */
  readonly isWhole: boolean;
  /** Most characters of a text that is searched for more than exact places. */
  readonly longest: number;
}

export function climb(text: string, { old, most, isWhole, longest }: Wanted): Found {
  const none: Found = { rung: "blanks", places: [], isWithin: false, lead: 0, trail: 0, near: "" };
  const exact = isWhole ? [] : asWritten(text, old, most);
  if (exact.length > 0) return { ...none, rung: "exact", places: exact, isWithin: true };
  const ended = isWhole ? [] : withOtherEndings(text, old, most);
  if (ended.length > 0) return { ...none, rung: "endings", places: ended, isWithin: true };
  if (text.length > longest) return none;
  const { fold, swap } = folding();
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  const key = (line: string) => fold(line).replace(/\s+/g, "");
  const keys = lines.map(key);
  const isEnded = old.endsWith("\n");
  const whole = old.replaceAll("\r\n", "\n").split("\n");
  if (isEnded) whole.pop();
  const first = whole.findIndex((line) => key(line) !== "");
  const last = whole.findLastIndex((line) => key(line) !== "");
  if (first === -1) return none;
  const bare = whole.slice(first, last + 1);
  for (const wanted of bare.length === whole.length ? [whole] : [whole, bare]) {
    const starts = alike(wanted.map(key), keys);
    const found = fitting(wanted, starts, lines, fold);
    if (!found) continue;
    const places = placesOf(found.starts.slice(0, most + 1), wanted.length, text, lines, isEnded);
    const [lead, trail] = wanted === whole ? [0, 0] : [first, whole.length - 1 - last];
    return { ...none, rung: found.rung, places, lead, trail };
  }
  const within = isWhole ? [] : occurrences(swap(text), swap(old), most);
  if (within.length > 0) return { ...none, rung: "lookalikes", isWithin: true, places: within };
  return { ...none, near: nearest(bare.map(key), keys, lines) };
}

/** Every function that a climb uses. */
export const climbers = [
  asWritten,
  withOtherEndings,
  occurrences,
  folding,
  alike,
  fitting,
  placesOf,
  nearest,
  mostShared,
  mostSimilar,
  sharedEnds,
];

// --- internal ---

/** The places of a part, with their lines. */
function occurrences(text: string, part: string, most: number): FoundPassage[] {
  const found: FoundPassage[] = [];
  let line = 1;
  let newline = text.indexOf("\n");
  for (let at = text.indexOf(part); at !== -1 && found.length <= most; at = text.indexOf(part, at + 1)) {
    // The letter before a combining accent is not the letter without one.
    if (/[\u0300-\u036f]/.test(text[at + part.length] ?? "")) continue;
    for (; newline !== -1 && newline < at; newline = text.indexOf("\n", newline + 1)) line += 1;
    found.push({ start: at, end: at + part.length, line });
  }
  return found;
}

/** A place must not begin between the two characters of a line ending. */
function asWritten(text: string, old: string, most: number): FoundPassage[] {
  return occurrences(text, old, most).map((place) =>
    old.startsWith("\n") && text[place.start - 1] === "\r" ? { ...place, start: place.start - 1 } : place,
  );
}

function withOtherEndings(text: string, old: string, most: number): FoundPassage[] {
  const [flat, flatOld] = [text.replaceAll("\r\n", "\n"), old.replaceAll("\r\n", "\n")];
  if (flat.length === text.length && flatOld === old) return [];
  // Flattening removed carriage returns, so add the number of those before each position. The positions are in order.
  const unflattened = (positions: readonly number[]): number[] => {
    let [seen, next] = [0, text.indexOf("\r\n")];
    return positions.map((at) => {
      for (; next !== -1 && next - seen < at; next = text.indexOf("\r\n", next + 2)) seen += 1;
      return at + seen;
    });
  };
  const found = occurrences(flat, flatOld, most);
  const [starts, ends] = [unflattened(found.map(({ start }) => start)), unflattened(found.map(({ end }) => end))];
  return found.map(({ line }, at) => ({ start: starts[at] as number, end: ends[at] as number, line }));
}

/** Replaces characters that look like others. `swap` leaves all positions as they are. */
function folding() {
  const marks: readonly (readonly [RegExp, string])[] = [
    [/[\u2018-\u201b\u2032\u02bc\uff07]/g, "'"],
    [/[\u201c-\u201f\u2033\uff02]/g, '"'],
    [/[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g, "-"],
    [/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " "],
    [/[\u200b\u2060\ufeff\u00ad]/g, ""],
    [/\u2026/g, "..."],
  ];
  const same = marks.filter(([, plain]) => plain.length === 1);
  const replaced = (text: string, table: typeof marks) =>
    table.reduce((folded, [mark, plain]) => folded.replace(mark, plain), text);
  const isAscii = (line: string) => !/[^\0-\x7f]/.test(line);
  return {
    fold: (line: string) => (isAscii(line) ? line : replaced(line.normalize("NFC"), marks)),
    swap: (text: string) => replaced(text, same),
  };
}

/** The first lines of all passages whose keys are the wanted ones: those that are the same except for white space. */
function alike(wanted: readonly string[], keys: readonly string[]): number[] {
  const anchor = wanted.findIndex((word) => word !== "");
  const word = wanted[anchor] as string;
  const starts: number[] = [];
  for (let at = keys.indexOf(word); at !== -1; at = keys.indexOf(word, at + 1)) {
    if (wanted.every((each, offset) => keys[at - anchor + offset] === each)) starts.push(at - anchor);
  }
  return starts;
}

/** Those of the passages that fit on the first rung on which any does. */
function fitting(
  wanted: readonly string[],
  starts: readonly number[],
  lines: readonly string[],
  fold: (line: string) => string,
): { rung: Rung; starts: number[] } | null {
  // Blanks matter in a literal, between two words and between two operators. They do not matter around brackets and operators.
  const loosen = (part: string) =>
    part
      .replace(/\s+/g, " ")
      .replace(/ ?([()[\]{},;]) ?/g, "$1")
      .replace(/(?<![=+*%<>&|^!-]) (?=[=+*%<>&|^])|(?<=[=+*%<>&|^]) (?![=+*%<>&|^!-])/g, "");
  const squeeze = (line: string) =>
    line
      .split(/("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)/)
      .map((part, at) => (at % 2 === 1 ? part : loosen(part)))
      .join("");
  const rungs: readonly (readonly [Rung, (line: string) => string])[] = [
    ["ends", (line) => line],
    ["trailing", (line) => line.trimEnd()],
    ["lookalikes", (line) => fold(line).trimEnd()],
    ["indentation", (line) => fold(line).trim()],
    ["blanks", (line) => squeeze(fold(line).trim())],
  ];
  for (const [rung, plain] of rungs) {
    const words = wanted.map(plain);
    const fit = starts.filter((start) =>
      words.every((word, offset) => plain(lines[start + offset] as string) === word),
    );
    if (fit.length > 0) return { rung, starts: fit };
  }
  return null;
}

/** The places of whole lines; with the ending of the last one, if it has one and the passage has one. */
function placesOf(
  starts: readonly number[],
  count: number,
  text: string,
  lines: readonly string[],
  isEnded: boolean,
): FoundPassage[] {
  const offsets = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) offsets.push(at + 1);
  return starts.map((start) => {
    const after = start + count;
    const end = (offsets[after - 1] as number) + (lines[after - 1] as string).length;
    return {
      start: offsets[start] as number,
      end: isEnded ? (offsets[after] ?? text.length) : end,
      line: start + 1,
    };
  });
}

/** The place with most of the same lines, or else the line most similar to the longest wanted one. For display, never for an edit. */
function nearest(wanted: readonly string[], keys: readonly string[], lines: readonly string[]): string {
  const best = mostShared(wanted, keys) ?? mostSimilar(wanted, keys);
  if (best === null) return "";
  const from = Math.max(0, best - 1);
  const shown = lines.slice(from, best + Math.min(wanted.length, 12) + 1);
  return shown.map((line, offset) => `${from + offset + 1}\t${line.slice(0, 300)}`).join("\n");
}

/** Where a passage would begin to which most characters of the same lines belong; null without such a line. */
function mostShared(wanted: readonly string[], keys: readonly string[]): number | null {
  const votes = new Map<number, number>();
  const offsets = new Map<string, number[]>();
  for (const [offset, word] of wanted.entries())
    if (word.length > 2) offsets.set(word, [...(offsets.get(word) ?? []), offset]);
  for (const [line, word] of keys.entries()) {
    for (const offset of (offsets.get(word) ?? []).slice(0, 8)) {
      votes.set(line - offset, (votes.get(line - offset) ?? 0) + word.length);
    }
  }
  let [best, score]: [number | null, number] = [null, 0];
  for (const [start, count] of votes) if (count > score) [best, score] = [start, count];
  return best;
}

/** Where a passage would begin of which one line is much like the longest wanted one; null without such a line. */
function mostSimilar(wanted: readonly string[], keys: readonly string[]): number | null {
  const largest = wanted.reduce((a, b) => (b.length > a.length ? b : a));
  let [best, score] = [-1, 0];
  for (const [line, word] of keys.entries()) {
    const shared = sharedEnds(word, largest);
    if (shared > score) [best, score] = [line - wanted.indexOf(largest), shared];
  }
  return score * 2 < largest.length ? null : best;
}

function sharedEnds(a: string, b: string): number {
  const most = Math.min(a.length, b.length, 1000);
  let head = 0;
  while (head < most && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return head + tail;
}
