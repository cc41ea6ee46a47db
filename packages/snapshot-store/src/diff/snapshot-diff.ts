/** What snapshots changed, as unified diffs. One file at a time is in memory. */
import type { Blobs } from "../content/blobs.js";
import { createPacer, type Pacer, paced } from "../pacer.js";
import { changeOf, type Manifest } from "../turn/manifest.js";
import type { FileEdit } from "../types.js";
import { type Side, unifiedDiff } from "./unified-diff.js";

/** Each file of one snapshot. */
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

/** All files of consecutive snapshots together. `now`, if given, is asked for the content at the end. */
export async function diffAcross(
  manifests: readonly Manifest[],
  blobs: Blobs,
  base: string,
  now: ((path: string) => Promise<Side>) | null,
): Promise<string> {
  const sides = new Map<string, { readonly before: string | null; readonly after: string | null }>();
  for (const manifest of manifests) {
    for (const [path, after] of Object.entries(manifest.files)) {
      const known = sides.get(path);
      sides.set(path, { before: known === undefined ? manifest.before[path]! : known.before, after });
    }
  }
  const parts: string[] = [];
  const pacer = createPacer();
  for (const [path, { before, after }] of [...sides].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const end = now === null ? await contentOf(after, blobs, pacer) : await now(path);
    parts.push(await unifiedDiff(path, await contentOf(before, blobs, pacer), end, base));
  }
  return parts.join("");
}

// --- internal ---

async function contentOf(sha: string | null, blobs: Blobs, pacer: Pacer): Promise<Side> {
  await pacer.pause();
  return sha === null ? null : paced(blobs.reading(sha), pacer);
}
