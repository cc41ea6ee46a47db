/** Translates the indentation of a model's lines into that of the file. */

/** A line of the passage as the model wrote it, and the same line in the file. */
export interface Pair {
  readonly old: string;
  readonly file: string;
}

/** Returns the indentation of a new line in the file; null when that is not clear. */
export type Indent = (line: string) => string | null;

/**
 * Learns from the pairs how to translate the model's indentation: every line moves by the same number of levels, whether a level is a tab
 * or some spaces. `text` shows what one level is in the file.
 */
export function learnIndentation(pairs: readonly Pair[], added: readonly string[], text: string): Indent {
  const known = pairs
    .filter(({ old }) => old.trim() !== "")
    .map(({ old, file }) => ({ old: leadOf(old), file: leadOf(file) }));
  const kept = new Set(pairs.map(({ old }) => old));
  const leads = {
    all: added.filter((line) => line.trim() !== "").map(leadOf),
    // If no new line repeats an old one, the model may have used the file's own style for them.
    mayBeFiles: !added.some((line) => leadOf(line) !== "" && kept.has(line)),
  };
  const moved = movement(known, leads, text);
  if (moved) return (line) => moved(leadOf(line));
  const isMixed = kindOf(known.map(({ old }) => old)) === "mixed";
  return (line) => {
    const lead = leadOf(line);
    const files = new Set(known.filter(({ old }) => old === lead).map(({ file }) => file));
    if (files.size > 0) return files.size === 1 ? ([...files][0] as string) : null;
    // The first line may be misleading, because a passage often begins in the middle of a line; or a single other line may be off.
    const parts = isMixed
      ? [known.filter(({ old }) => kindOf([old]) === kindOf([lead]))]
      : [known.slice(1), mostAlike(known)];
    for (const part of parts) {
      // If lines of several depths do not fit, the rest agrees only by chance. And deeper lines say nothing about a shallower one.
      const off = new Set(known.filter((pair) => !part.includes(pair)).map(({ old }) => old));
      const isShallow = part.every(({ old }) => lead.length < old.length);
      if (!isMixed && (off.size > 1 || isShallow)) continue;
      const partly = movement(telling(part), leads, text);
      if (partly) return partly(lead);
    }
    return null;
  };
}

export function leadOf(line: string): string {
  return /^\s*/.exec(line)?.[0] ?? "";
}

// --- internal ---

type Kind = "tab" | "blank" | "none" | "mixed";

function kindOf(leads: readonly string[]): Kind {
  const all = leads.join("");
  if (all === "") return "none";
  return /^\t+$/.test(all) ? "tab" : /^ +$/.test(all) ? "blank" : "mixed";
}

/** The translation on which all pairs agree; null if they disagree. */
function movement(
  known: readonly Pair[],
  { all: added, mayBeFiles }: { readonly all: readonly string[]; readonly mayBeFiles: boolean },
  text: string,
): ((lead: string) => string | null) | null {
  if (known.length === 0) return null;
  if (known.every(({ old, file }) => old === file)) return (lead) => lead;
  const olds = known.map(({ old }) => old);
  const files = known.map(({ file }) => file);
  const own = kindOf(olds);
  const level = levelIn(text);
  const theirs = kindOf(files) === "none" ? (level === "\t" ? "tab" : "blank") : kindOf(files);
  if (own === "mixed" || theirs === "mixed") return null;
  const unit = theirs === "tab" ? "\t" : level === "\t" ? " ".repeat(4) : level;
  const shift = sameValue(known.map(moveOf));
  const sizeOf = (leads: readonly string[]) =>
    own === "tab" ? 1 : leads.reduce((divisor, { length }) => gcd(divisor, length), 0) || unit.length;
  const common = sizeOf([...olds, ...added.filter((lead) => kindOf([lead]) === "blank")]);
  const together = (lead: string) =>
    shift !== null && (lead === "" || kindOf([lead]) === theirs)
      ? repeated(unit[0] as string, lead.length + shift)
      : null;
  const found = scale(known, unit, own === "blank", [common, sizeOf(olds)]);
  const isSameKind = own === theirs || own === "none";
  // A shift by a single character is not a level of indentation.
  if (!found && (shift === null || Math.abs(shift) === 1 || !isSameKind)) return null;
  const inFile = added.filter((lead) => lead !== "" && kindOf([lead]) !== "mixed");
  const isFileStyle =
    mayBeFiles &&
    own === theirs &&
    inFile.some((lead) => lead.length % (found?.size ?? 1) !== 0) &&
    inFile.every((lead) => lead.length % unit.length === 0);
  // If the model uses larger steps than the file, each step means one level.
  const isPlain = isSameKind && shift !== null && !(found && common > unit.length);
  return (lead) => {
    const kind = kindOf([lead]);
    if (kind === "mixed") return null;
    if (isPlain && (kind === theirs || kind === "none")) return together(lead);
    if (!found) return together(lead);
    const isOwn = kind === own || own === "none";
    const size = kind === "tab" ? 1 : isOwn && !isFileStyle ? found.size : unit.length;
    const levels = lead.length / size + found.levels;
    return Number.isInteger(levels) ? repeated(unit, levels) : together(lead);
  };
}

/** The pairs, or none if no line is indented, because they then say nothing about an indented line. */
function telling(known: readonly Pair[]): readonly Pair[] {
  return known.some(({ old, file }) => old !== "" || file !== "") ? known : [];
}

/** The lines that moved by the same number of characters as most lines. */
function mostAlike(known: readonly Pair[]): readonly Pair[] {
  const counts = new Map<number, number>();
  for (const pair of known) counts.set(moveOf(pair), (counts.get(moveOf(pair)) ?? 0) + 1);
  return known.filter((pair) => (counts.get(moveOf(pair)) ?? 0) * 2 > known.length);
}

function moveOf({ old, file }: Pair): number {
  return file.length - old.length;
}

/** How many characters the model uses per level, and by how many levels the file's lines are deeper. */
function scale(known: readonly Pair[], unit: string, isBlank: boolean, sizes: readonly number[]) {
  const lengths = known.map(({ old, file }) => [old.length, file.length / unit.length] as const);
  if (lengths.some(([, level]) => !Number.isInteger(level))) return null;
  // Spaces instead of tabs: find the number of spaces per tab, if every line agrees on it.
  const ratio = sameValue(
    lengths.filter(([length, level]) => length + level > 0).map(([length, level]) => length / level),
  );
  const isRatio = unit === "\t" && isBlank && ratio !== null && SIZES.has(ratio);
  for (const size of isRatio ? [ratio, ...sizes] : sizes) {
    const levels = sameValue(lengths.map(([length, level]) => level - length / size));
    if (levels !== null && Number.isInteger(levels)) return { size, levels };
  }
  return null;
}

const SIZES: ReadonlySet<number> = new Set([2, 3, 4, 8]);

function sameValue(values: readonly number[]): number | null {
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : null;
}

function repeated(unit: string, times: number): string | null {
  return times < 0 ? null : unit.repeat(times);
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

const MAX_LOOKED_AT = 256 * 1024;

/** One level of indentation in a text: a tab, or the most frequent number of spaces by which a line is deeper than the one before. */
function levelIn(text: string): string {
  const leads = text
    .slice(0, MAX_LOOKED_AT)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => leadOf(line.trimEnd()));
  const tabs = leads.filter((lead) => lead.startsWith("\t")).length;
  if (tabs > 0 && tabs * 2 >= leads.filter((lead) => lead !== "").length) return "\t";
  const counts = new Map<number, number>();
  for (const [at, lead] of leads.entries()) {
    const step = lead.length - (leads[at - 1]?.length ?? 0);
    if (step > 1 && step <= 8) counts.set(step, (counts.get(step) ?? 0) + 1);
  }
  let [size, most] = [4, 0];
  for (const [step, count] of counts) if (count > most) [size, most] = [step, count];
  return " ".repeat(size);
}
