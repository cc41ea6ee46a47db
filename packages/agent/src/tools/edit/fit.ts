/** Makes the text that replaces a passage: the new lines, with the line endings and the indentation of the file. */
import { refusal } from "./change.js";
import type { Found, FoundPassage, Rung } from "./climb.js";
import { type Indent, leadOf, learnIndentation } from "./indentation.js";

export interface Splice extends FoundPassage {
  readonly text: string;
  readonly rung: Rung;
}

/** Applies all splices to a text. Throws when two of them overlap. */
export function spliced(text: string, splices: readonly Splice[]): string {
  const sorted = splices.toSorted((a, b) => a.start - b.start);
  let result = "";
  let at = 0;
  for (const splice of sorted) {
    if (splice.start < at)
      throw refusal(`Two of the edits are about the same text (line ${splice.line}): make them one.`);
    result += text.slice(at, splice.start) + splice.text;
    at = splice.end;
  }
  return result + text.slice(at);
}

/** Makes the new text for one place. Throws when that would need a guess. */
export async function fitPassage(
  text: string,
  place: FoundPassage,
  found: Found,
  old: string,
  replacement: string,
): Promise<string> {
  const { isWithin } = found;
  const isBeforeBlank = /^\r?\n/.test(text.slice(place.end, place.end + 2));
  const { now, was } = isWithin
    ? { was: flat(old), now: flat(replacement) }
    : wholeLines(old, replacement, found, isBeforeBlank);
  const olds = was.split("\n");
  const news = now.split("\n");
  // The two differ only in line endings, so the line endings are the intended change.
  if (found.rung === "exact" && was === now) return replacement;
  if (!isWithin && now === "") return "";
  const isDrifted = !isWithin && found.rung !== "ends";
  if (isDrifted && olds.length === news.length && was.replace(/\s+/g, "") === now.replace(/\s+/g, ""))
    throw refusal(
      "old_string and new_string differ in white space alone, and old_string does not stand in the file like that.",
    );
  const file = splitLines(text.slice(place.start, place.end), olds.length);
  const pairs = await pairLines(olds, news);
  const isMoved = found.rung === "indentation" || found.rung === "blanks";
  const indent = isMoved
    ? learnIndentation(
        olds.map((line, at) => ({ old: line, file: file.lines[at] ?? "" })),
        news,
        text,
      )
    : null;
  const ending = neighbouring(text, place);
  let result = "";
  let last = file.ends[0] || ending;
  for (const [at, line] of news.entries()) {
    const { from, same } = pairs[at] as LinePair;
    const there = from === null ? undefined : file.lines[from];
    if (same && indent && olds.length !== news.length && isUnclear(line, indent, olds)) throw unclear();
    result += same && there !== undefined ? there : indent ? indented(line, indent, olds, there, from) : line;
    if (at === news.length - 1) break;
    const isLast = at === news.length - 2 && news[at + 1] === "" && olds.at(-1) === "";
    const own = isLast ? file.ends.at(-1) : from === null ? undefined : file.ends[from];
    last = own || last;
    result += isLast ? (own ?? last) : last;
  }
  return result;
}

// --- internal ---

function flat(part: string): string {
  return part.replaceAll("\r\n", "\n");
}

/**
 * Removes the blank lines that the file does not have from both texts. Whole lines stay whole, except that the last line ending may
 * stand for a blank line that follows in the file.
 */
function wholeLines(old: string, replacement: string, { lead, trail }: Found, isBeforeBlank: boolean) {
  const was = flat(old);
  const now = flat(replacement);
  const isEnded = was.endsWith("\n");
  const wanted = was.split("\n");
  const kept = wanted.slice(lead, wanted.length - trail - (isEnded ? 1 : 0)).join("\n") + (isEnded ? "\n" : "");
  const isNowEnded = isEnded && now.endsWith("\n");
  const lines = (isNowEnded ? now.slice(0, -1) : now).split("\n");
  for (let dropped = 0; dropped < lead && lines.length > 1 && lines[0]?.trim() === ""; dropped += 1) lines.shift();
  for (let dropped = 0; dropped < trail && lines.length > 1 && lines.at(-1)?.trim() === ""; dropped += 1) lines.pop();
  const end = isNowEnded || (isEnded && !isBeforeBlank) ? "\n" : "";
  return { was: kept, now: now === "" ? "" : lines.join("\n") + end };
}

/** The lines of a passage and their endings, except for the last. `count` includes the empty line after a final line ending. */
function splitLines(passage: string, count: number): { lines: string[]; ends: string[] } {
  const parts = passage.split(/(\r?\n)/);
  const lines = parts.filter((_, at) => at % 2 === 0);
  const ends = parts.filter((_, at) => at % 2 === 1);
  // The file ends without the final line ending of the passage.
  if (lines.length < count) {
    lines.push("");
    ends.push("");
  }
  return { lines, ends };
}

/** The line ending at a place, or of the line before it. */
function neighbouring(text: string, { start, end }: FoundPassage): string {
  const after = text.indexOf("\n", end);
  const at = after === -1 ? text.lastIndexOf("\n", start - 1) : after;
  return at > 0 && text[at - 1] === "\r" ? "\r\n" : "\n";
}

interface LinePair {
  /** Index of the old line that the new line replaces; null for an added line. */
  readonly from: number | null;
  readonly same: boolean;
}

async function pairLines(olds: readonly string[], news: readonly string[]): Promise<LinePair[]> {
  const { createPacer, lineChanges } = await import("@chimera/snapshot-store/files");
  const pairs: LinePair[] = [];
  let old = 0;
  const keep = (until: number) => {
    for (; pairs.length < until; old += 1) pairs.push({ from: old, same: true });
  };
  for (const { oldStart, oldEnd, newStart, newEnd } of await lineChanges(olds, news, createPacer())) {
    keep(newStart);
    const isReplaced = oldEnd - oldStart === newEnd - newStart;
    for (let at = newStart; at < newEnd; at += 1) {
      pairs.push({ from: isReplaced ? oldStart + at - newStart : null, same: false });
    }
    old = oldEnd;
  }
  keep(news.length);
  return pairs;
}

function indented(
  line: string,
  indent: Indent,
  olds: readonly string[],
  there: string | undefined,
  from: number | null,
): string {
  const bare = line.trimStart();
  if (bare === "") return "";
  const lead = indent(line);
  if (lead !== null) return lead + bare;
  // The new line replaces one old line, and the model indented both the same way: use the indentation of the file's line.
  if (there !== undefined && from !== null && leadOf(olds[from] as string) === leadOf(line))
    return leadOf(there) + bare;
  throw unclear();
}

/** Whether the passage repeats a line that the model indented the same way, but the file indents differently. */
function isUnclear(line: string, indent: Indent, olds: readonly string[]): boolean {
  return line.trim() !== "" && olds.indexOf(line) !== olds.lastIndexOf(line) && indent(line) === null;
}

function unclear(): Error {
  return refusal(
    "The lines of old_string are there with other indentation, and how deep the new lines belong is not clear: copy the indentation of the file.",
  );
}
