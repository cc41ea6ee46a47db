import { chmodSync, mkdirSync, rmdirSync, type Stats } from "node:fs";
import { SandboxError } from "../errors.js";
import { entryAt } from "./paths.js";

interface Placeholder {
  /** Whoever else uses the directory changes one of them. */
  readonly made: Pick<Stats, "ino" | "ctimeMs">;
  users: number;
}

/**
 * Empty directories this process made so that a mount can cover a path that does not exist. Counted per process, not per
 * sandbox: removing one while a command still has it mounted would uncover that command.
 */
const held = new Map<string, Placeholder>();

/** Commands come in bursts, and making and removing directories takes longer than all the mounts of a command. */
const LINGER_MS = 1000;
let sweep: NodeJS.Timeout | undefined;

/** True while `path` exists only to be covered and nobody else has touched it; to a plan it is missing. */
export function isPlaceholder(path: string, entry = entryAt(path)): boolean {
  const made = held.get(path)?.made;
  return made !== undefined && made.ino === entry?.ino && made.ctimeMs === entry.ctimeMs;
}

/**
 * Makes each missing directory and returns the function that lets go of them; those that nobody holds for a second are removed,
 * at the latest when the process exits. Throws `invalid_workspace`.
 */
export function holdPlaceholders(paths: readonly string[]): () => void {
  const mine: Placeholder[] = [];
  const release = () => {
    for (const placeholder of mine.splice(0)) placeholder.users -= 1;
    clearTimeout(sweep);
    sweep = setTimeout(removeUnused, LINGER_MS).unref();
  };
  try {
    for (const path of paths) {
      const placeholder = isPlaceholder(path) ? held.get(path) : makePlaceholder(path);
      if (!placeholder) continue;
      placeholder.users += 1;
      mine.push(placeholder);
    }
  } catch (cause) {
    release();
    const message = `a protected place of the workspace cannot be covered: ${(cause as Error).message}`;
    throw new SandboxError("invalid_workspace", message, "use sandbox mode read-only", { cause });
  }
  return release;
}

// --- internal ---

function makePlaceholder(path: string): Placeholder | undefined {
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    leaveToOthers(path);
    return undefined;
  }
  const made = entryAt(path);
  if (!made) return undefined;
  if (held.size === 0) process.once("exit", removeUnused);
  const placeholder = { made, users: 0 };
  held.set(path, placeholder);
  return placeholder;
}

/** An empty directory may be another process's placeholder: touched, so that it is not removed from under our mount. */
function leaveToOthers(path: string): void {
  const entry = entryAt(path);
  if (entry?.isDirectory()) chmodSync(path, entry.mode & 0o7777);
}

function removeUnused(): void {
  for (const [path, { users }] of held) {
    if (users > 0) continue;
    const untouched = isPlaceholder(path);
    held.delete(path);
    try {
      if (untouched) rmdirSync(path);
    } catch {
      // Somebody outside put something there meanwhile; it is theirs now.
    }
  }
  if (held.size === 0) process.off("exit", removeUnused);
}
