/** What was typed before, kept in a file of its own that only its owner can read. */
import { readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

const MOST = 500;

/** @param path null keeps it in memory. */
export function openInputHistory(path: string | null) {
  let writing: Promise<void> = Promise.resolve();
  return {
    /** Newest first. */
    entries: path === null ? [] : readEntries(path),
    save(entries: readonly string[]) {
      if (path === null) return;
      const text = entries
        .slice(0, MOST)
        .map((entry) => `${JSON.stringify(entry)}\n`)
        .join("");
      writing = writing.then(() => replace(path, text)).catch(() => {});
    },
    /** Resolves when everything is written. */
    flush: () => writing,
  };
}

// --- internal ---

function readEntries(path: string): string[] {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .filter(Boolean)
      .slice(0, MOST)
      .map((line) => String(JSON.parse(line)));
  } catch {
    // No history yet, or one that cannot be read: it starts anew.
    return [];
  }
}

async function replace(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}
