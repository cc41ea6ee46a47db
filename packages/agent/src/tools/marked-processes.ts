/** Processes that carry a text in their environment: a child that made a session of its own is out of its group, but not of this. */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Kills them. Only Linux tells, and only where /proc is mounted; elsewhere nobody is found. */
export async function killMarked(text: string): Promise<void> {
  const wanted = Buffer.from(text);
  for (const [index, pid] of processes().entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn();
    if (!carries(pid, wanted)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // Gone since it was seen.
    }
  }
}

// --- internal ---

/** Processes looked at between two turns of the event loop: about a millisecond of work. */
const SLICE = 64;
/**
 * All environments are read through this. They do not tell their size, and 64 KiB for each, as `readFile` takes, is more than a
 * busy machine's memory should see with every command.
 */
const page = Buffer.allocUnsafeSlow(16 * 1024);

function processes(): string[] {
  if (process.platform !== "linux") return [];
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function carries(pid: string, wanted: Buffer): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(`/proc/${pid}/environ`, "r");
    for (let kept = 0; ; ) {
      const read = readSync(fd, page, kept, page.length - kept, null);
      if (read === 0) return false;
      const end = kept + read;
      if (page.subarray(0, end).includes(wanted)) return true;
      // The text may begin in this piece and end in the next.
      kept = Math.min(end, wanted.length - 1);
      page.copyWithin(0, end - kept, end);
    }
  } catch {
    // Somebody else's, or gone.
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
