/** `--version`, printed before the program is loaded: it takes hardly longer than Node itself. */
import { writeSync } from "node:fs";

/** True when that was all that was asked for. */
export function tellVersion(
  about: { readonly name: string; readonly version: string },
  process: NodeJS.Process,
): boolean {
  if (process.argv[2] !== "--version" && process.argv[2] !== "-V") return false;
  const line = `${about.name} ${about.version}\n`;
  try {
    // To open stdout as a stream takes longer than all the rest.
    writeSync(STDOUT, line);
  } catch (error) {
    // A pipe that is full just now; a reader that closed it needs no answer.
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") process.stdout.write(line);
  }
  return true;
}

// --- internal ---

const STDOUT = 1;
