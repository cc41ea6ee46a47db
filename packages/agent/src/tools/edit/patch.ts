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
}

/** Parses a patch. Throws `bad_pattern`, which names the line that cannot be read. */
export function parsePatch(patch: string): FilePatch[] {
  const files: OpenPatch[] = [];
  for (const [at, line] of patch.replaceAll("\r\n", "\n").split("\n").entries()) {
    const head = HEAD.exec(line.trimEnd());
    const file = files.at(-1);
    const [, kind, path = ""] = head ?? [];
    if (kind) files.push({ kind: kind.toLowerCase() as FilePatch["kind"], path, to: null, lines: [], hunks: [] });
    else if (MARKS.has(line.trim()) || (!file && line.trim() === "")) continue;
    else if (!file || !takeLine(file, line)) throw unreadable(at + 1, line);
  }
  if (files.length === 0)
    throw new AgentError("bad_pattern", "The patch is empty: it needs *** Update File: path, or another header.");
  return files.map(({ kind, path, to, lines, hunks }) => {
    const meant = hunks.map(trimmed).filter(({ old, now, anchors }) => old.length + now.length + anchors.length > 0);
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
    const start = hunk.anchors.reduce((at, anchor) => afterLine(text, anchor, at, name), from);
    const splice = await spliceOf(text, hunk, start, name, signal);
    splices.push(splice);
    from = splice.end;
  }
  return spliced(text, splices);
}

// --- internal ---

const HEAD = /^\*\*\* (Add|Delete|Update) File: (.+)$/;
const MARKS: ReadonlySet<string> = new Set(["*** Begin Patch", "*** End Patch"]);
const MOVE = "*** Move to: ";
const END = "*** End of File";

interface OpenPatch {
  readonly kind: FilePatch["kind"];
  readonly path: string;
  to: string | null;
  readonly lines: string[];
  readonly hunks: { anchors: string[]; old: string[]; now: string[]; atEnd: boolean }[];
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
      hunk = { anchors: [], old: [], now: [], atEnd: false };
      file.hunks.push(hunk);
    }
    // Ignore the line numbers of a unified diff, which are not lines of the file.
    if (anchor && !/^-\d+(,\d+)? \+\d+(,\d+)?$/.test(anchor)) hunk.anchors.push(anchor);
    if (anchor !== undefined) return true;
  }
  if (line.trim() === END) {
    hunk.atEnd = true;
    return true;
  }
  const sign = line[0] ?? " ";
  if (sign === " " || sign === "-") hunk.old.push(line.slice(1));
  if (sign === " " || sign === "+") hunk.now.push(line.slice(1));
  return " -+".includes(sign);
}

/** Removes empty lines at the end of a hunk, which only separate it from the next header. */
function trimmed({ anchors, old, now, atEnd }: Hunk): Hunk {
  let end = 0;
  while (old.length > end && now.length > end && old.at(-1 - end) === "" && now.at(-1 - end) === "") end += 1;
  return { anchors, old: old.slice(0, old.length - end), now: now.slice(0, now.length - end), atEnd };
}

function unreadable(number: number, line: string): AgentError {
  const shown = JSON.stringify(line.slice(0, 80));
  return new AgentError(
    "bad_pattern",
    `Line ${number} of the patch cannot be read (${shown}): lines of a hunk begin with a blank, - or +.`,
  );
}

/** The position after the first line that equals the anchor. */
function afterLine(text: string, anchor: string, from: number, name: string): number {
  for (let at = from; at < text.length; ) {
    const end = text.indexOf("\n", at) + 1 || text.length;
    if (text.slice(at, end).trim() === anchor) return end;
    at = end;
  }
  throw refusal(`The line of @@ ${anchor} does not occur in ${name}${from === 0 ? "" : " after the hunk before"}.`);
}

async function spliceOf(text: string, hunk: Hunk, from: number, name: string, signal: AbortSignal): Promise<Splice> {
  const { anchors, old, now, atEnd } = hunk;
  const lineOf = (at: number) => text.slice(0, at).split("\n").length;
  if (old.length === 0) {
    const at = anchors.length > 0 && !atEnd ? from : text.length;
    const isOpen = at > 0 && text[at - 1] !== "\n";
    const ending = text.includes("\r\n") ? "\r\n" : "\n";
    const added = now.join(ending);
    return { start: at, end: at, line: lineOf(at), rung: "exact", text: isOpen ? ending + added : added + ending };
  }
  const [{ findPassage }, { fitPassage }] = await Promise.all([import("./place.js"), import("./fit.js")]);
  const rest = text.slice(from);
  const [was, becomes] = [old, now].map((lines) => lines.map((line) => `${line}\n`).join("")) as [string, string];
  const found = await findPassage(rest, was, { most: MOST_PLACES, whole: true, signal });
  const [first] = found.places;
  const last = found.places.at(-1);
  if (!first || !last) {
    const near = found.near === "" ? "" : ` What stands there instead:\n${found.near}`;
    throw refusal(`The lines of a hunk do not occur in ${name}:\n${old.slice(0, 5).join("\n")}\n${near}`);
  }
  // After an anchor the first place is right. Without one, the place must be unique.
  if (found.places.length > 1 && anchors.length === 0 && !atEnd) {
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

const MOST_PLACES = 20;
