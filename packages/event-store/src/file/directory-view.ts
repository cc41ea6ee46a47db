import { statSync } from "node:fs";

/** How long a directory's time must have been unchanged before it counts as settled; longer where times are whole seconds. */
const SETTLED_MS = 100;
const SETTLED_COARSE_MS = 3_000;

/**
 * Caches what `look` makes of a directory until the directory's modification time changes. Such times advance in steps, so a
 * look at a directory that changed a moment ago may miss a name of the same step: its value is not kept. Nor is a value that
 * `isPassing` because a file it needs is still being written.
 */
export function createDirectoryView<T>(
  directory: string,
  look: () => T,
  isPassing: (value: T) => boolean = () => false,
): () => T {
  let seen: { readonly mtimeMs: number; readonly value: T } | null = null;
  return () => {
    const { mtimeMs } = statSync(directory);
    if (seen?.mtimeMs === mtimeMs) return seen.value;
    seen = null;
    const value = look();
    const settles = mtimeMs % 1000 === 0 ? SETTLED_COARSE_MS : SETTLED_MS;
    if (Date.now() - mtimeMs > settles && !isPassing(value)) seen = { mtimeMs, value };
    return value;
  };
}
