/** Parses the patch language that some models are trained on: it adds and deletes files, and updates them with hunks in their context. */
import { AgentError } from "../../errors.js";
import { refusal } from "./change.js";
import type { Splice } from "./fit.js";

/** The part of a patch for one file. */
export interface FilePatch {
  readonly kind: "add" | "delete" | "update";
  readonly path: string;
  /** The new path of a file that moves; otherwise null. */
  readonly to: string | null;
  /** The content of an added file. */
  readonly text: string;
  readonly hunks: readonly Hunk[];
}

interface Hunk {
  /** Lines that occur somewhere before the hunk, outermost first. */
  readonly anchors: readonly string[];
  readonly old: readonly string[];
  readonly now: readonly string[];
  /** Whether the hunk is for the last lines of the file. */
  readonly atEnd: boolean;
  /** Whether it has the line numbers of a unified diff, which are ignored because models count badly. */
  readonly isNumbered: boolean;
}

/** Parses a patch. Throws `bad_pattern`, which names the line that cannot be read. */
export function parsePatch(patch: string): FilePatch[] {
  const files: OpenPatch[] = [];
  const { lines: body, offset } = unwrapped(patch.replaceAll("\r\n", "\n").split("\n"));
  for (const [at, line] of body.entries()) {
    const head = HEAD.exec(line.trimEnd());
    const file = files.at(-1);
    const [, kind, path = ""] = head ?? [];
    if (kind) files.push({ kind: kind.toLowerCase() as FilePatch["kind"], path, to: null, lines: [], hunks: [] });
    else if (MARKS.has(line.trimEnd()) || (!file && line.trim() === "")) continue;
    else if (!file || !takeLine(file, line)) throw unreadable(offset + at + 1, line);
  }
  if (files.length === 0)
    throw new AgentError("bad_pattern", "The patch is empty: it needs *** Update File: path, or another header.");
  return files.map(({ kind, path, to, lines, hunks }) => {
    const meant = hunks.map(trimmed).filter(({ old, now }) => old.length + now.length > 0);
    if (kind === "update" && to === null && meant.length === 0)
      throw new AgentError("bad_pattern", `The patch changes nothing in ${path}.`);
    return { kind, path, to, text: lines.map((line) => `${line}\n`).join(""), hunks: meant };
  });
}

/** Applies hunks, which must be in the order of the text. Each must match exactly one place, or the first place after its anchors. */
export async function applyHunks(
  text: string,
  hunks: readonly Hunk[],
  name: string,
  signal: AbortSignal,
): Promise<string> {
  const { spliced } = await import("./fit.js");
  const splices: Splice[] = [];
  let from = 0;
  for (const hunk of hunks) {
    let anchor = { start: from, end: from };
    for (const line of hunk.anchors) anchor = lineOfAnchor(text, line, anchor.end, name);
    // Some models repeat the line of the anchor in the hunk.
    const isRepeated = hunk.anchors.length > 0 && hunk.old[0]?.trim() === hunk.anchors.at(-1);
    const splice = await spliceOf(text, hunk, isRepeated ? anchor.start : anchor.end, name, signal);
    splices.push(splice);
    from = splice.end;
  }
  return spliced(text, splices);
}

// --- internal ---

const HEAD = /^\*\*\* (Add|Delete|Update) File: (.+)$/;
const BEGIN = "*** Begin Patch";
const FINISH = "*** End Patch";
const MARKS: ReadonlySet<string> = new Set([BEGIN, FINISH]);
const MOVE = "*** Move to: ";
const END = "*** End of File";

interface OpenPatch {
  readonly kind: FilePatch["kind"];
  readonly path: string;
  to: string | null;
  readonly lines: string[];
  readonly hunks: { anchors: string[]; old: string[]; now: string[]; atEnd: boolean; isNumbered: boolean }[];
}

/**
 * The lines between the marks, without what some models write around them: a command with a here-document, or a fence. A mark after a
 * blank is a line of a hunk.
 */
function unwrapped(lines: readonly string[]): { lines: readonly string[]; offset: number } {
  const offset = Math.max(
    lines.findIndex((line) => line.trimEnd() === BEGIN),
    0,
  );
  const end = lines.findLastIndex((line) => line.trimEnd() === FINISH);
  return { lines: lines.slice(offset, end > offset ? end : undefined), offset };
}

/** Adds a line to the file's part of the patch. False for a line that is not allowed there. */
function takeLine(file: OpenPatch, line: string): boolean {
  if (file.kind === "delete") return line.trim() === "";
  if (file.kind === "add") {
    if (line.startsWith("+")) file.lines.push(line.slice(1));
    return line.startsWith("+") || line.trim() === "";
  }
  let hunk = file.hunks.at(-1);
  if (line.startsWith(MOVE) && !hunk) {
    file.to = line.slice(MOVE.length).trim();
    return true;
  }
  const anchor = /^@@(.*?)(?:@@\s*)?$/s.exec(line)?.[1]?.trim();
  if (anchor !== undefined || !hunk) {
    // Several anchors in a row belong to one hunk.
    if (!hunk || hunk.old.length + hunk.now.length > 0) {
      hunk = { anchors: [], old: [], now: [], atEnd: false, isNumbered: false };
      file.hunks.push(hunk);
    }
    // What follows the line numbers of a unified diff need not be a line before the hunk.
    if (anchor && /^-\d+(,\d+)? \+\d+(,\d+)?(?: @@|$)/.test(anchor)) hunk.isNumbered = true;
    else if (anchor) hunk.anchors.push(anchor);
    if (anchor !== undefined) return true;
  }
  if (line.trim() === END) {
    hunk.atEnd = true;
    return true;
  }
  if (/^\\ No newline at end of file/.test(line)) return true;
  const sign = line[0] ?? " ";
  if (sign === " " || sign === "-") hunk.old.push(line.slice(1));
  if (sign === " " || sign === "+") hunk.now.push(line.slice(1));
  return " -+".includes(sign);
}

/** Removes empty lines at the end of a hunk, which only separate it from the next header. */
function trimmed({ old, now, ...hunk }: Hunk): Hunk {
  let end = 0;
  while (old.length > end && now.length > end && old.at(-1 - end) === "" && now.at(-1 - end) === "") end += 1;
  return { ...hunk, old: old.slice(0, old.length - end), now: now.slice(0, now.length - end) };
}

function unreadable(number: number, line: string): AgentError {
  const shown = JSON.stringify(line.slice(0, 80));
  return new AgentError(
    "bad_pattern",
    `Line ${number} of the patch cannot be read (${shown}): lines of a hunk begin with a blank, - or +.`,
  );
}

/** The first line that equals the anchor, or else the only one that begins with it and does not go on within a word. */
function lineOfAnchor(text: string, anchor: string, from: number, name: string): { start: number; end: number } {
  const begun: { start: number; end: number }[] = [];
  for (let start = from; start < text.length; ) {
    const end = text.indexOf("\n", start) + 1 || text.length;
    const line = text.slice(start, end).trim();
    if (line === anchor) return { start, end };
    if (line.startsWith(anchor) && !INSIDE_WORD.test(line.slice(anchor.length - 1))) begun.push({ start, end });
    start = end;
  }
  const [only, ...more] = begun;
  if (only && more.length === 0) return only;
  throw refusal(`The line of @@ ${anchor} does not occur in ${name}${from === 0 ? "" : " after the hunk before"}.`);
}

const INSIDE_WORD = /^[\p{L}\p{N}_]{2}/u;

/** The change of a hunk, whose lines are at `after` or below. */
async function spliceOf(text: string, hunk: Hunk, after: number, name: string, signal: AbortSignal): Promise<Splice> {
  const { anchors, old, now, atEnd, isNumbered } = hunk;
  let from = atEnd ? Math.max(after, lastLines(text, old.length)) : after;
  const lineOf = (at: number) => text.slice(0, at).split("\n").length;
  if (old.length === 0) {
    if (isNumbered && anchors.length === 0 && !atEnd && text !== "")
      throw refusal(`A hunk that only adds lines does not say where in ${name}: add lines of context or an @@ line.`);
    const at = anchors.length > 0 && !atEnd ? from : text.length;
    const isOpen = at > 0 && text[at - 1] !== "\n";
    const ending = text.includes("\r\n") ? "\r\n" : "\n";
    const added = now.join(ending);
    return { start: at, end: at, line: lineOf(at), rung: "exact", text: isOpen ? ending + added : added + ending };
  }
  const [{ findPassage }, { fitPassage }] = await Promise.all([import("./place.js"), import("./fit.js")]);
  const [was, becomes] = [old, now].map((lines) => lines.map((line) => `${line}\n`).join("")) as [string, string];
  const find = () => findPassage(text.slice(from), was, { most: MOST_PLACES, whole: true, signal });
  let found = await find();
  const isLast = atEnd && found.places.length > 0;
  if (atEnd && !isLast) {
    from = after;
    found = await find();
  }
  const [first] = found.places;
  const last = found.places.at(-1);
  if (!first || !last) {
    const near = found.near === "" ? "" : ` What stands there instead:\n${found.near}`;
    throw refusal(`The lines of a hunk do not occur in ${name}:\n${old.slice(0, 5).join("\n")}\n${near}`);
  }
  // After an anchor the first place is right, and of the last lines the last. Otherwise the place must be unique.
  if (found.places.length > 1 && (atEnd ? !isLast : anchors.length === 0)) {
    const lines = found.places.map(({ line }) => lineOf(from) + line - 1).join(", ");
    throw new AgentError(
      "edit_many_matches",
      `The lines of a hunk occur several times in ${name} (lines ${lines}): add context or an @@ line.`,
    );
  }
  const { start, end, line } = atEnd ? last : first;
  const place = { start: start + from, end: end + from, line: lineOf(from) + line - 1 };
  return { ...place, rung: found.rung, text: await fitPassage(text, place, found, was, becomes) };
}

/** Where the last `count` lines begin, not counting blank lines at the end. */
function lastLines(text: string, count: number): number {
  const before = count === 0 ? [] : text.trimEnd().split("\n").slice(0, -count);
  return before.reduce((length, line) => length + line.length + 1, 0);
}

const MOST_PLACES = 20;
