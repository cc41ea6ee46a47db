/** Replaces small files that only their owner can read; a reader sees the old file or the new one. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The file is not synced: after a crash of the machine the old one may be back. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.tmp-${crypto.randomUUID().slice(-12)}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(draft, text, { flag: "wx", mode: 0o600 });
    rename(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

// --- internal ---

/** Tries again on Windows, where renaming fails while another process reads the file. */
function rename(from: string, to: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      renameSync(from, to);
      return;
    } catch (error) {
      if (process.platform !== "win32" || attempt === 20) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
