/** Small files that are replaced whole, for their owner alone: a reader sees the old one or the new one. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** It is not synced: after a crash of the machine, the old file may be there. */
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

/** On Windows a process that reads the file at the same moment makes this fail. */
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
