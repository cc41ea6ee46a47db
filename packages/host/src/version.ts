/** Prints `--version` before the program is loaded, so that it takes hardly longer than Node itself. */
import { writeSync } from "node:fs";

/** Returns true when it printed the version and the process is done. */
export function tellVersion(
  about: { readonly name: string; readonly version: string },
  process: NodeJS.Process,
): boolean {
  if (process.argv[2] !== "--version" && process.argv[2] !== "-V") return false;
  const line = `${about.name} ${about.version}\n`;
  try {
    // Opening stdout as a stream would take longer than all the rest.
    writeSync(STDOUT, line);
  } catch (error) {
    // The pipe is full for now. A reader that closed it needs no answer.
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") process.stdout.write(line);
  }
  return true;
}

// --- internal ---

const STDOUT = 1;
