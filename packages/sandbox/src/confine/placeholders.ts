import { mkdirSync, rmdirSync } from "node:fs";

/**
 * Empty directories this process made so that a mount can cover a path that does not exist. Counted per process, not per
 * sandbox: removing one while another command still has it mounted would uncover that command.
 */
const held = new Map<string, number>();

/** True while `path` exists only to be covered; to a plan it is missing. */
export function isPlaceholder(path: string): boolean {
  return held.has(path);
}

/** Makes each missing directory and returns the function that removes those that are still empty. */
export function holdPlaceholders(paths: readonly string[]): () => void {
  const mine: string[] = [];
  for (const path of paths) {
    const users = held.get(path) ?? 0;
    if (users > 0 || makeDirectory(path)) {
      held.set(path, users + 1);
      mine.push(path);
    }
  }
  return () => {
    for (const path of mine.splice(0).reverse()) {
      const users = (held.get(path) ?? 1) - 1;
      if (users > 0) {
        held.set(path, users);
        continue;
      }
      held.delete(path);
      try {
        rmdirSync(path);
      } catch {
        // Somebody outside put something there meanwhile; it is theirs now.
      }
    }
  };
}

// --- internal ---

function makeDirectory(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    // Made by another process in between: covered by its own mount, and not ours to remove.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
