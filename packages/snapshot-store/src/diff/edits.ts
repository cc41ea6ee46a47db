/** The changes of one snapshot as unified diffs. Only one file is in memory at a time. */
import { relative } from "node:path";
import type { Blobs } from "../content/blobs.js";
import { createPacer, type Pacer, paced } from "../pacer.js";
import { changeOf, type Manifest } from "../turn/manifest.js";
import type { FileEdit } from "../types.js";

export async function editsOf(manifest: Manifest, blobs: Blobs, base: string): Promise<readonly FileEdit[]> {
  const edits: FileEdit[] = [];
  const pacer = createPacer();
  for (const [path, after] of Object.entries(manifest.files)) {
    const before = await contentOf(manifest.before[path]!, blobs, pacer);
    const diff = await unifiedDiff(path, before, await contentOf(after, blobs, pacer), base);
    edits.push({ ...changeOf(manifest, path), diff });
  }
  return edits;
}

// --- internal ---

/** The content of one side; null when the file does not exist there. */
type Side = Buffer | null;

const MAX_BYTES = 4 * 1024 * 1024;

async function contentOf(sha: string | null, blobs: Blobs, pacer: Pacer): Promise<Side> {
  await pacer.pause();
  return sha === null ? null : paced(blobs.reading(sha), pacer);
}

/** The diff of one file, with its path relative to `base`; empty when both sides are the same. */
async function unifiedDiff(path: string, before: Side, after: Side, base: string): Promise<string> {
  if (before !== null && after !== null && before.equals(after)) return "";
  if (before === null && after === null) return "";
  const name = printable(relative(base, path));
  const oldName = before === null ? "/dev/null" : `a/${name}`;
  const newName = after === null ? "/dev/null" : `b/${name}`;
  if (isBinary(before) || isBinary(after)) return `Binary files ${oldName} and ${newName} differ\n`;
  const small = (before?.length ?? 0) <= MAX_BYTES && (after?.length ?? 0) <= MAX_BYTES;
  // Load the code that compares lines with the first diff.
  const { unifiedHunks } = await import("./hunks.js");
  const hunks = small ? await unifiedHunks(before?.toString("utf8") ?? "", after?.toString("utf8") ?? "") : null;
  return hunks === null ? `Files ${oldName} and ${newName} differ\n` : `--- ${oldName}\n+++ ${newName}\n${hunks}`;
}

/** As in git, a file is binary when its first 8000 bytes contain a NUL. */
function isBinary(side: Side): boolean {
  return side?.subarray(0, 8000).includes(0) ?? false;
}

/** Quotes a name with control characters: a line break in it would forge lines of the diff. */
function printable(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return /[\u0000-\u001f\u007f"\\]|\p{Surrogate}/u.test(name) ? JSON.stringify(name) : name;
}
