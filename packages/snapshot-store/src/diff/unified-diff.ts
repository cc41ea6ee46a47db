/** Unified diffs of stored versions. What compares lines is loaded when the first one is asked for. */
import { relative } from "node:path";

/** Content of one side; null: the file does not exist there. */
export type Side = Buffer | null;

const MAX_BYTES = 4 * 1024 * 1024;

/** The diff of one file, with its path relative to `base`; empty when both sides are the same. */
export async function unifiedDiff(path: string, before: Side, after: Side, base: string): Promise<string> {
  if (before !== null && after !== null && before.equals(after)) return "";
  if (before === null && after === null) return "";
  const name = printable(relative(base, path));
  const oldName = before === null ? "/dev/null" : `a/${name}`;
  const newName = after === null ? "/dev/null" : `b/${name}`;
  if (isBinary(before) || isBinary(after)) return `Binary files ${oldName} and ${newName} differ\n`;
  const small = (before?.length ?? 0) <= MAX_BYTES && (after?.length ?? 0) <= MAX_BYTES;
  const { unifiedHunks } = await import("./hunks.js");
  const hunks = small ? await unifiedHunks(before?.toString("utf8") ?? "", after?.toString("utf8") ?? "") : null;
  return hunks === null ? `Files ${oldName} and ${newName} differ\n` : `--- ${oldName}\n+++ ${newName}\n${hunks}`;
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
