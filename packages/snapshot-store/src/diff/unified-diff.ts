/** Unified diffs of stored versions. The diff algorithm is loaded when the first one is asked for. */
import { relative } from "node:path";

/** Content of one side; null: the file does not exist there. */
export type Side = Buffer | null;

/** Beyond this many edited lines a file is shown as replaced whole: finding the smallest diff would take too long. */
const MAX_EDITS = 5_000;
const MAX_BYTES = 4 * 1024 * 1024;

/** The diff of one file, with its path relative to `base`; empty when both sides are the same. */
export async function unifiedDiff(path: string, before: Side, after: Side, base: string): Promise<string> {
  if (before !== null && after !== null && before.equals(after)) return "";
  if (before === null && after === null) return "";
  const name = printable(relative(base, path));
  const oldName = before === null ? "/dev/null" : `a/${name}`;
  const newName = after === null ? "/dev/null" : `b/${name}`;
  if (isBinary(before) || isBinary(after)) return `Binary files ${oldName} and ${newName} differ\n`;
  if ((before?.length ?? 0) > MAX_BYTES || (after?.length ?? 0) > MAX_BYTES)
    return `Files ${oldName} and ${newName} differ\n`;
  const { createTwoFilesPatch } = await import("diff");
  const texts = [before?.toString("utf8") ?? "", after?.toString("utf8") ?? ""] as const;
  const patch =
    createTwoFilesPatch(oldName, newName, ...texts, undefined, undefined, { maxEditLength: MAX_EDITS }) ??
    replacedWhole(oldName, newName, ...texts);
  return patch.slice(patch.indexOf("--- "));
}

// --- internal ---

/** As git decides it: a NUL in the first 8000 bytes. */
function isBinary(side: Side): boolean {
  return side?.subarray(0, 8000).includes(0) ?? false;
}

/** A name with a line break would forge lines of the diff. */
function printable(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return /[\u0000-\u001f\u007f"\\]|\p{Surrogate}/u.test(name) ? JSON.stringify(name) : name;
}

function replacedWhole(oldName: string, newName: string, before: string, after: string): string {
  const old = linesOf(before);
  const fresh = linesOf(after);
  const range = (lines: readonly string[]) => (lines.length === 0 ? "0,0" : `1,${lines.length}`);
  const mark = (lines: readonly string[], sign: string) =>
    lines
      .map((line) => (line.endsWith("\n") ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`))
      .join("");
  return `--- ${oldName}\n+++ ${newName}\n@@ -${range(old)} +${range(fresh)} @@\n${mark(old, "-")}${mark(fresh, "+")}`;
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
