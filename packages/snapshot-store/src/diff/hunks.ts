/** The changes of a text as the hunks of a unified diff. */
import { createPacer, paced, type Steps } from "../pacer.js";
import { type Change, lineChanges } from "./line-changes.js";

/** How many unchanged lines to show before and after a change. */
const CONTEXT = 3;
/** The most lines of a text that is compared. */
const MAX_LINES = 500_000;

/** Lines between two looks at the clock. */
const STRETCH = 2048;

/**
 * Empty when the texts are the same; null when they have too many lines to compare.
 *
 * @example
 * await unifiedHunks("a\n", "b\n"); // "@@ -1 +1 @@\n-a\n+b\n"
 */
export async function unifiedHunks(before: string, after: string): Promise<string | null> {
  const pacer = createPacer();
  const old = await paced(splitting(before), pacer);
  const now = await paced(splitting(after), pacer);
  if (old === null || now === null) return null;
  const changes = await lineChanges(old, now, pacer);
  const parts: string[] = [];
  for (const hunk of grouped(changes)) {
    parts.push(await paced(formatting(hunk, old, now), pacer));
    await pacer.pause();
  }
  return parts.join("");
}

// --- internal ---

/** Splits a text into lines with their line breaks; only the last may have none. */
function* splitting(text: string): Steps<string[] | null> {
  const lines: string[] = [];
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = text.indexOf("\n", start) + 1 || text.length;
    lines.push(text.slice(start, end));
    if (lines.length > MAX_LINES) return null;
    if (lines.length % STRETCH === 0) yield;
  }
  return lines;
}

/** Groups the changes into hunks; changes whose context lines meet share one. */
function grouped(changes: readonly Change[]): Change[][] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1);
    const end = last?.at(-1)?.oldEnd;
    if (last && end !== undefined && change.oldStart - end <= 2 * CONTEXT) last.push(change);
    else hunks.push([change]);
  }
  return hunks;
}

function* formatting(changes: readonly Change[], old: readonly string[], now: readonly string[]): Steps<string> {
  const first = changes[0] as Change;
  const last = changes.at(-1) as Change;
  const lead = Math.min(CONTEXT, first.oldStart);
  const trail = Math.min(CONTEXT, old.length - last.oldEnd);
  const out: string[] = [];
  function* add(sign: string, lines: readonly string[], start: number, end: number): Steps<void> {
    for (let at = start; at < end; at += 1) {
      const line = lines[at] as string;
      out.push(line.endsWith("\n") ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`);
      if (out.length % STRETCH === 0) yield;
    }
  }
  let at = first.oldStart - lead;
  for (const { oldStart, oldEnd, newStart, newEnd } of changes) {
    yield* add(" ", old, at, oldStart);
    yield* add("-", old, oldStart, oldEnd);
    yield* add("+", now, newStart, newEnd);
    at = oldEnd;
  }
  yield* add(" ", old, at, at + trail);
  const from = range(first.oldStart - lead, last.oldEnd + trail);
  const to = range(first.newStart - lead, last.newEnd + trail);
  return `@@ -${from} +${to} @@\n${out.join("")}`;
}

/** An empty range is named by the line before it. */
function range(start: number, end: number): string {
  return `${start === end ? start : start + 1},${end - start}`;
}
