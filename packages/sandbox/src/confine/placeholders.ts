import { randomUUID } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, rmdirSync, rmSync, type Stats, unlinkSync, writeFileSync } from "node:fs";
import { SandboxError } from "../errors.js";
import { entryAt } from "./paths.js";
import type { Place } from "./place.js";

interface Placeholder {
  readonly kind: Place["kind"];
  /** As it was made. Another process that uses the placeholder changes `ctimeMs` or `ino`. */
  readonly made: Pick<Stats, "ino" | "ctimeMs">;
  users: number;
}

/** Placeholders for missing paths that this process has made. Several commands may have the same one mounted. */
const held = new Map<string, Placeholder>();

/** How long unused placeholders stay. Commands come in bursts, and making placeholders takes longer than a command's mounts. */
const LINGER_MS = 1000;
let sweep: NodeJS.Timeout | undefined;

/** Whether `path` is a placeholder that no other process has touched. A plan treats it as missing. */
export function isPlaceholder(path: string, entry = entryAt(path)): boolean {
  const made = held.get(path)?.made;
  return made !== undefined && made.ino === entry?.ino && made.ctimeMs === entry.ctimeMs;
}

/** Makes placeholders. The returned function releases them, and a second later they are removed. Throws `invalid_workspace`. */
export function holdPlaceholders(places: readonly Place[]): () => void {
  const mine: Placeholder[] = [];
  const release = () => {
    for (const placeholder of mine.splice(0)) placeholder.users -= 1;
    clearTimeout(sweep);
    sweep = setTimeout(removeUnused, LINGER_MS).unref();
  };
  try {
    for (const place of places) {
      const placeholder = isPlaceholder(place.path) ? held.get(place.path) : makePlaceholder(place);
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

function makePlaceholder({ path, kind, text }: Place): Placeholder | undefined {
  try {
    if (kind === "directory") mkdirSync(path);
    else makeFile(path, text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    leaveToOthers(path);
    return undefined;
  }
  const made = entryAt(path);
  if (!made) return undefined;
  if (held.size === 0) process.once("exit", removeUnused);
  const placeholder = { kind, made, users: 0 };
  held.set(path, placeholder);
  return placeholder;
}

/** Makes a file that never exists without its content, if the file system allows hard links. */
function makeFile(path: string, text = ""): void {
  const fresh = { flag: "wx", mode: 0o644 };
  const draft = `${path}-${randomUUID()}`;
  try {
    writeFileSync(draft, text, fresh);
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    writeFileSync(path, text, fresh);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Touches an entry that may be another process's placeholder, so that this process does not remove it under our mount. */
function leaveToOthers(path: string): void {
  const entry = entryAt(path);
  if (entry && !entry.isSymbolicLink()) chmodSync(path, entry.mode & 0o7777);
}

function removeUnused(): void {
  for (const [path, { kind, users }] of held) {
    if (users > 0) continue;
    const untouched = isPlaceholder(path);
    held.delete(path);
    try {
      if (untouched) (kind === "directory" ? rmdirSync : unlinkSync)(path);
    } catch {
      // Something was put there meanwhile, so leave it.
    }
  }
  if (held.size === 0) process.off("exit", removeUnused);
}
