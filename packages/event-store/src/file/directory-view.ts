import { statSync } from "node:fs";

/** How long a directory's time must have been unchanged before it counts as settled; longer where times are whole seconds. */
const SETTLED_MS = 100;
const SETTLED_COARSE_MS = 3_000;

/**
 * Caches the value that `look` makes from a directory until the directory's modification time changes. These times advance in steps, so
 * the value of a directory that changed a moment ago may miss a later name of the same step: it is not cached. Neither is a value for
 * which `isPassing` is true, because a file that it needs is still being written.
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
